// The page of a simulation: maps, what happens, and the clock.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { cut } from '../format'
import { Icon, Logo } from '../ui/icons'
import { ThemeSwitch } from '../ui/theme-switch'
import { Field, type Options } from './field'
import { Panel } from './panel'
import { SPEEDS, useShow, type Show } from './show'
import { focusOf, sentence } from './words'

export function Player({ show }: { show: Show }) {
  useShow(show)
  const [options, setOptions] = useState<Options>({ range: true, links: true, datagrams: true, leaders: true })
  useKeys(show)
  const title = show.titles.map((t) => cut(t, 40)).join(' against ')
  useEffect(() => {
    document.title = title ? `${title} · Consort simulation` : 'Consort simulation'
  }, [title])
  const flip = (key: keyof Options) => {
    setOptions({ ...options, [key]: !options[key] })
    show.wake()
  }
  const header = show.reels[0]?.tape.header
  return (
    <div class="player">
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus() }}>Skip to content</a>
      <header class="bar">
        <Logo />
        <h1>{title || 'Simulation'}</h1>
        {header && <code class="mono t3 cmd" title={header.command}>{cut(header.command, 200)}</code>}
        <span class="r"><ThemeSwitch /></span>
      </header>
      <main id="main" tabIndex={-1} class={`stage ${show.reels.length > 1 ? 'two' : ''}`}>
        {show.error && <p class="stale" role="alert"><Icon id="suspect" /> Cannot go on: {show.error}. Start it again in the shell, and reload this page.</p>}
        {show.reels.map((_, n) => <Stage key={n} show={show} n={n} options={options} />)}
        <Panel show={show} />
      </main>
      <Transport show={show} options={options} flip={flip} />
    </div>
  )
}

function Stage({ show, n, options }: { show: Show; n: number; options: Options }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const field = useRef<Field | null>(null)
  const drawn = useRef(options)
  drawn.current = options
  const { tape } = show.reels[n]
  useLayoutEffect(() => {
    const made = new Field(canvas.current!, tape, (node) => show.select(node), show.wake)
    field.current = made
    const measure = () => made.resize(box.current!.clientWidth, box.current!.clientHeight)
    const observer = new ResizeObserver(measure)
    observer.observe(box.current!)
    measure()
    const dark = matchMedia('(prefers-color-scheme: dark)')
    window.addEventListener('themechange', made.recolor)
    dark.addEventListener('change', made.recolor)
    const stop = show.onPaint((now) => {
      const state = tape.stateAt(show.now)
      if (!state) return false
      const focus = show.selected ?? focusOf(show.reels[n], show.now)
      return made.draw(show.now, state, show.playing ? show.speed : Math.min(show.speed, 1), focus, show.selected, drawn.current, now)
    })
    return () => {
      stop()
      observer.disconnect()
      window.removeEventListener('themechange', made.recolor)
      dark.removeEventListener('change', made.recolor)
      made.destroy()
    }
  }, [tape])
  const keys = (e: KeyboardEvent) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key]
    if (!way || !e.altKey) return
    e.preventDefault()
    e.stopPropagation()
    show.select(field.current!.walk(show.selected, way[0], way[1]))
  }
  const words = sentence(show.reels[n], show.now)
  return (
    <section class="canvas" ref={box} aria-label={show.titles[n]}>
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={`Map of ${show.titles[n]}: ${words}. The table of nodes says the same; Alt and arrow keys walk.`} onKeyDown={keys} />
      <div class="what">
        {show.reels.length > 1 && <h2>{cut(show.titles[n], 40)}</h2>}
        <p data-words={n}>{words}</p>
      </div>
      {n === 0 && <Key show={show} />}
      <div class="zoom">
        <button type="button" class="btn" aria-label="Zoom in" onClick={() => field.current?.zoomBy(1.4)}>+</button>
        <button type="button" class="btn" aria-label="Zoom out" onClick={() => field.current?.zoomBy(1 / 1.4)}>−</button>
        <button type="button" class="btn" onClick={() => field.current?.fit()}>Fit</button>
      </div>
    </section>
  )
}

/** The shapes on the map, in short; the panel has them in full. */
function Key({ show }: { show: Show }) {
  const header = show.reels[0].tape.header
  const doubtful = show.doubtful && !header?.moving
  return (
    <div class="card legend" aria-hidden="true">
      <span><Icon id="alive" tone="alive" /> runs</span>
      <span><Icon id="crash" tone="crash" /> crashed</span>
      {header && header.elections.length > 0 && <span><Icon id="crown" tone="leader" /> leads</span>}
      {header && header.locks.length > 0 && <span><Icon id="key" tone="lock" /> holds a lock</span>}
      {header && header.locks.length > 0 && <span><i class="key-wait" /> waits for it</span>}
      {doubtful && <span><Icon id="failed" tone="failed" /> failed by all</span>}
      {doubtful && <span><i class="key-arc" /> share that suspects, condemns</span>}
      {doubtful && <span><i class="key-dash" /> this one does</span>}
      <span><i class="key-dot" /> datagram</span>
    </div>
  )
}

function Transport({ show, options, flip }: { show: Show; options: Options; flip: (key: keyof Options) => void }) {
  const end = Math.max(show.until, 1)
  const growing = show.reels.some((r) => !r.tape.done) && !show.error
  const toggles: [keyof Options, string][] = [['links', 'Links'], ['datagrams', 'Datagrams'], ['range', 'Range']]
  if (show.reels.some((r) => r.tape.header?.elections.length)) toggles.push(['leaders', 'Leaders'])
  return (
    <footer class="transport" aria-label="Time">
      <div class="seek">
        <Marks show={show} end={end} />
        <input
          type="range" min={0} max={Math.ceil(end / 1e4)} step={1} value={Math.round(show.now / 1e4)} aria-label="Time"
          aria-valuetext={clockText(show.now)} onInput={(e) => show.seek(Number(e.currentTarget.value) * 1e4)}
        />
      </div>
      <div class="row">
        <button type="button" class="btn" data-do="back" title="To the event before ( , )" aria-label="To the event before" onClick={() => show.step(false)}><Glyph d="M4 3v10M13 3 6 8l7 5z" /></button>
        <button type="button" class="btn primary" data-do="play" title="Space" aria-pressed={show.playing} onClick={() => show.toggle()}>
          {show.playing ? <Glyph d="M5 3v10M11 3v10" /> : <Glyph d="M5 2.8 13 8l-8 5.2z" />} {show.playing ? 'Pause' : 'Play'}
        </button>
        <button type="button" class="btn" data-do="next" title="To the next event ( . )" aria-label="To the next event" onClick={() => show.step(true)}><Glyph d="M12 3v10M3 3l7 5-7 5z" /></button>
        <button type="button" class="btn" data-do="tick" title="A tenth of a second on" onClick={() => { show.pause(); show.seek(show.now + 100_000) }}>+0.1 s</button>
        <label class="pick"><span class="sr">Speed</span>
          <select data-do="speed" value={String(show.speed)} onChange={(e) => show.setSpeed(Number(e.currentTarget.value))}>
            {SPEEDS.map((s) => <option key={s} value={String(s)}>{s}×</option>)}
          </select>
        </label>
        <output class="mono time" data-time>{clockText(show.now)} <span class="t3">/ {clockText(end)}{growing ? ', still running' : ''}</span></output>
        {!show.reels[0]?.tape.header?.moving && show.doubtful && (
          <span class="markkey" aria-hidden="true">
            <span><i class="mk crash" /> crash</span><span><i class="mk failed" /> first verdict</span><span><i class="mk deed" /> all know</span><span><i class="mk doubts" /> suspicions held</span>
          </span>
        )}
        <span class="toggles" role="group" aria-label="Shown on the map">
          {toggles.map(([key, text]) => <button key={key} type="button" class={`chip ${options[key] ? 'on' : ''}`} aria-pressed={options[key]} onClick={() => flip(key)}>{text}</button>)}
        </span>
      </div>
    </footer>
  )
}

function Glyph({ d }: { d: string }) {
  return <svg class="g" viewBox="0 0 16 16" aria-hidden="true"><path d={d} fill="currentColor" stroke="currentColor" stroke-width="2" stroke-linejoin="round" stroke-linecap="round" /></svg>
}

/** Above the bar: how much is sent, how many doubts there are, and what is worth going to. */
function Marks({ show, end }: { show: Show; end: number }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useLayoutEffect(() => {
    const c = canvas.current?.getContext('2d')
    const box = canvas.current?.parentElement
    if (!c || !box) return
    const [w, h] = [box.clientWidth, 30]
    const ratio = Math.min(window.devicePixelRatio || 1, 2)
    canvas.current!.width = w * ratio
    canvas.current!.height = h * ratio
    c.scale(ratio, ratio)
    const css = getComputedStyle(document.documentElement)
    const color = (name: string) => css.getPropertyValue(`--${name}`).trim()
    // The thumb of the bar has a width.
    const x = (at: number) => 8 + (at / end) * (w - 16)
    const most = Math.max(1, ...show.reels.map((r) => r.story.doubts.reduce((a, b) => Math.max(a, b), 0)))
    show.reels.forEach((reel, n) => {
      const { doubts, items } = reel.story
      const base = show.reels.length > 1 ? (n ? h : h / 2) : h
      const tall = show.reels.length > 1 ? h / 2 - 2 : h - 4
      c.beginPath()
      c.moveTo(x(0), base)
      let last = 0
      doubts.forEach((d, i) => {
        c.lineTo(x(i * 500_000), base - (last / most) * tall * 0.9)
        last = d
        c.lineTo(x(i * 500_000), base - (last / most) * tall * 0.9)
      })
      // What was held last is held to the end.
      c.lineTo(x(reel.tape.end), base - (last / most) * tall * 0.9)
      c.lineTo(x(reel.tape.end), base)
      c.fillStyle = color('suspect-w')
      c.fill()
      c.strokeStyle = color('suspect-m')
      c.lineWidth = 1
      c.stroke()
      for (const item of items) {
        if (!item.mark) continue
        c.fillStyle = color(item.tone === 'deed' ? 'text3' : item.tone === 'crash' ? 'text' : item.tone)
        c.fillRect(x(item.at) - 1, base - tall, 2, tall)
      }
    })
  })
  return <canvas ref={canvas} class="marks" aria-hidden="true" />
}

function useKeys(show: Show): void {
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const target = e.target as HTMLElement
      if (e.ctrlKey || e.metaKey || e.altKey || /SELECT|TEXTAREA/.test(target.tagName)) return
      const range = target.tagName === 'INPUT'
      const act: Record<string, () => void> = {
        ' ': () => show.toggle(),
        '.': () => show.step(true),
        ',': () => show.step(false),
        ArrowRight: () => show.seek(show.now + 1e6),
        ArrowLeft: () => show.seek(show.now - 1e6),
        Home: () => show.seek(0),
        End: () => show.seek(show.end),
        '+': () => show.faster(1),
        '-': () => show.faster(-1),
        Escape: () => show.select(null),
      }
      if (!act[e.key] || (e.key === ' ' && target.tagName === 'BUTTON') || (range && /Home|End/.test(e.key))) return
      e.preventDefault()
      act[e.key]()
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [show])
}

/** `3:07.25` */
export function clockText(us: number): string {
  const s = us / 1e6
  const minutes = Math.floor(s / 60)
  return `${minutes}:${(Math.floor((s - minutes * 60) * 100) / 100).toFixed(2).padStart(5, '0')}`
}
