// The group as a picture: who leads, who is suspected by whom, where it falls apart.

import { useEffect, useRef, useState } from 'preact/hooks'
import { byName, byTrouble, counts, label, leaderSince, nameOf, since, split, type Split } from '../derive'
import { calm, cut, list, plural, span } from '../format'
import { Chart, type Model, type Node } from '../map/chart'
import type { Mode } from '../map/layout'
import { order, state, useStore } from '../store'
import { Seg, Token, Who } from '../ui/bits'
import { Icon } from '../ui/icons'
import type { Member } from '../types'
import { Detail } from './members'

/** Members that left are shown for this long. */
const LEFT_MS = 60_000

/** More links than these are not drawn. */
const STAR_ABOVE = 16

export function MapView({ chosen }: { chosen: string | null }) {
  useStore(500)
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const chart = useRef<Chart | null>(null)
  const hops = (state.topology?.links.length ?? 0) > 0
  const [mode, setMode] = useState<Mode>('rtt')
  const [election, setElection] = useState('')
  const parts = split()
  const model = describe(parts, mode, election, chosen)

  useEffect(() => {
    const frame = box.current!
    const made = new Chart(canvas.current!, (id) => (location.hash = id ? `#/map/${id}` : '#/map'))
    chart.current = made
    const observer = new ResizeObserver(() => made.resize(frame.clientWidth, frame.clientHeight))
    observer.observe(frame)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', made.recolor)
    window.addEventListener('themechange', made.recolor)
    return () => {
      observer.disconnect()
      scheme.removeEventListener('change', made.recolor)
      window.removeEventListener('themechange', made.recolor)
      made.destroy()
    }
  }, [])
  useEffect(() => chart.current?.update(model))

  const modes: (readonly [Mode, string])[] = [['rtt', 'Round trip']]
  if (hops) modes.push(['hops', 'Hops'])
  if (state.self?.positions) modes.push(['positions', 'Positions'])
  const walk = (e: KeyboardEvent) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key]
    if (e.key === 'Escape') location.hash = '#/map'
    if (!step) return
    e.preventDefault()
    const next = chart.current?.walk(step[0], step[1])
    if (next) location.hash = `#/map/${next}`
  }
  return (
    <div class="mapwrap">
      <div class="canvas" ref={box}>
        <h1 class="sr">Map</h1>
        <div class="ctl">
          {modes.length > 1 && <Seg label="Layout" options={modes} value={mode} set={setMode} />}
          {state.elections.length > 1 && <Seg label="Leader of" options={state.elections.slice(0, 5).map((e) => [e.id, cut(e.name, 16)] as const)} value={election || state.elections[0].id} set={setElection} />}
        </div>
        <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="map" aria-label="Map of the group. Arrow keys walk from member to member. The members view has the same as a table." onKeyDown={walk} />
        <Islands parts={parts} model={model} />
        <div class="card legend">
          <span><Icon id="alive" tone="alive" /> alive</span>
          <span><Icon id="suspect" tone="suspect" /> suspect</span>
          <span><Icon id="failed" tone="failed" /> failed</span>
          {parts && <span><Icon id="beyond" tone="beyond" /> other side</span>}
          <span><Icon id="crown" tone="leader" /> leads</span>
          <span><Icon id="key" tone="lock" /> holds a lock</span>
        </div>
        <div class="zoom">
          <button type="button" class="btn" aria-label="Zoom in" onClick={() => chart.current?.zoomBy(1.4)}>+</button>
          <button type="button" class="btn" aria-label="Zoom out" onClick={() => chart.current?.zoomBy(1 / 1.4)}>−</button>
          <button type="button" class="btn" onClick={() => chart.current?.fit()}>Fit</button>
        </div>
      </div>
      <div class="panel">
        {chosen ? <Detail id={chosen} back="#/map" /> : parts ? <SplitPanel parts={parts} /> : <Summary measured={chart.current?.measured ?? false} hops={mode === 'hops'} />}
      </div>
    </div>
  )
}

function describe(parts: Split | null, mode: Mode, election: string, selected: string | null): Model {
  const shown = byName().filter((m) => m.status !== 'left' || (since(m) ?? Infinity) < LEFT_MS)
  const chosen = state.elections.find((e) => e.id === election) ?? state.elections[0]
  // By component, every component has its own leader; here are those of this one.
  const local = (state.topology?.members ?? []).filter((m) => chosen && (m.leads.includes(chosen.name) || m.leads.includes(chosen.id))).map((m) => m.id)
  const leaders = new Set([chosen?.leader?.id, ...local, ...(parts?.islands.map((i) => i.leader) ?? [])].filter(Boolean))
  const holders = new Set((state.locks?.locks ?? []).flatMap((l) => l.contenders.filter((c) => c.held).map((c) => c.id)))
  const accusations: [string, string][] = []
  for (const m of shown) {
    if (m.status !== 'suspect') continue
    const known = state.cases.get(m.id)?.case.accusers.map((a) => a.id) ?? []
    const by = known.length ? known : m.accuser ? [m.accuser] : []
    for (const id of by) accusations.push([id, m.id])
  }
  const accusers = new Set(accusations.map(([from]) => from))
  const nodes = shown.map((m): Node => {
    const far = parts?.far.has(m.id) ?? false
    const side = far ? 1 + parts!.islands.findIndex((i) => i.ids.has(m.id)) : 0
    const paused = state.lab?.nodes.some((n) => n.id === m.id && n.state === 'paused') ?? false
    const status = far && m.status !== 'alive' && parts!.certain ? 'beyond' : paused && m.status === 'alive' ? 'paused' : m.status
    const leads = leaders.has(m.id)
    return {
      id: m.id,
      label: cut(label(m), 24),
      sub: subtitle(m, leads, far, chosen?.name ?? ''),
      status,
      side,
      place: m.place,
      leads,
      holds: holders.has(m.id),
      accuses: accusers.has(m.id),
      important: leads || m.status === 'suspect' || m.status === 'failed' || holders.has(m.id) || m.self,
    }
  })
  return {
    nodes,
    links: links(shown, parts),
    accusations,
    mode,
    sides: parts ? [`This side · ${parts.near.size}`, ...parts.islands.map((i, n, all) => `${all.length > 1 ? `Side ${n + 2}` : 'Other side'} · ${i.ids.size}`)] : null,
    selected,
  }
}

function subtitle(m: Member, leads: boolean, far: boolean, election: string): string {
  if (m.status === 'suspect') {
    const known = state.cases.get(m.id)
    const left = known?.case.verdict_in_ms
    return left != null ? `verdict in ${span(Math.max(0, left - (Date.now() - known!.at)))}` : 'suspected'
  }
  const age = since(m)
  if (m.status === 'failed' && !far) return age === null ? 'failed' : `failed ${calm(age)} ago`
  if (m.status === 'left') return 'left'
  if (leads) return `leads ${cut(election, 16)}`
  return m.self ? 'this agent' : ''
}

function links(members: Member[], parts: Split | null): [string, string][] {
  if (state.topology?.links.length) return state.topology.links
  const nodes = state.lab?.nodes.filter((n) => n.sees)
  if (nodes && nodes.length <= STAR_ABOVE) {
    // Who counts each other alive.
    return nodes.flatMap((a, i) => nodes.slice(i + 1).filter((b) => a.sees!.includes(b.id) && b.sees!.includes(a.id)).map((b) => [a.id, b.id] as [string, string]))
  }
  const own = state.self?.id
  if (!own || parts?.far.has(own)) return []
  return members.filter((m) => !m.self && m.status !== 'failed' && m.heard_ms !== null && m.heard_ms < 20_000).map((m) => [own, m.id] as [string, string])
}

/** The same in words, for those who do not see the canvas. */
function Islands({ parts, model }: { parts: Split | null; model: Model }) {
  const leaders = model.nodes.filter((n) => n.leads).map((n) => n.label).join(' ')
  const names = (side: number) => list(model.nodes.filter((n) => n.side === side).map((n) => n.label), 60)
  return (
    <ul class="sr" data-islands={1 + (parts?.islands.length ?? 0)} data-leaders={leaders} aria-label="Parts of the group">
      <li>{parts ? 'This side' : 'All'}: {names(0)}</li>
      {parts?.islands.map((_, i) => <li key={i}>Other side: {names(i + 1)}</li>)}
      {leaders && <li>{leaders.includes(' ') ? 'Lead' : 'Leads'}: {leaders}</li>}
    </ul>
  )
}

function Summary({ measured, hops }: { measured: boolean; hops: boolean }) {
  const n = counts()
  const how = hops
    ? 'Lines are links: both ends hear each other.'
    : measured
      ? 'The closer two are, the shorter the round trip between them, by coordinates that all nodes estimate.'
      : 'All are within a millisecond of each other, so they stand in the order of their names.'
  const linesOf = state.topology?.links.length ? '' : state.lab && state.lab.nodes.length <= STAR_ABOVE ? ' Lines join those that count each other alive.' : ' Lines lead to those this agent heard from recently.'
  const suspects = state.members.filter((m) => m.status === 'suspect')
  const failed = byTrouble().filter((m) => m.status === 'failed')
  return (
    <>
      <h2>{plural(n.all, 'member')}</h2>
      <p class="t2 sm">{how}{!hops && linesOf}</p>
      <dl class="kv fold">
        <dt>Alive</dt><dd>{n.alive}</dd>
        {n.suspect > 0 && <><dt>Suspected</dt><dd>{n.suspect}</dd></>}
        {n.failed > 0 && <><dt>Failed</dt><dd>{n.failed}</dd></>}
        {state.elections.map((e) => {
          const at = leaderSince(e)
          return <><dt><bdi>{cut(e.name, 18)}</bdi></dt><dd><Icon id={e.leader ? 'crown' : 'vacant'} tone={e.leader ? 'leader' : 'failed'} /> {e.leader ? <Who id={e.leader.id} name={e.leader.name} /> : 'nobody'} {at && <span class="t3">{calm(at.ms)}</span>}</dd></>
        })}
        {(state.locks?.locks ?? []).filter((l) => l.held).map((l) => {
          const holder = l.contenders.find((c) => c.held)!
          return <><dt><bdi>{cut(l.name, 18)}</bdi></dt><dd><Icon id="key" tone="lock" /> <Who id={holder.id} name={holder.name} /></dd></>
        })}
      </dl>
      {suspects.length > 0 && (
        <div class="fold">
          <h2>{plural(suspects.length, 'suspicion')}</h2>
          <ul class="rows">{suspects.slice(0, 8).map((m) => <li key={m.id}><a href={`#/map/${m.id}`}><Icon id="suspect" tone="suspect" /> {label(m)} <span class="t3">by {m.accuser ? nameOf(m.accuser) : '?'}</span></a></li>)}</ul>
        </div>
      )}
      {failed.length > 0 && (
        <div class="fold">
          <ul class="rows">{failed.slice(0, 8).map((m) => <li key={m.id}><a href={`#/map/${m.id}`}><Icon id="failed" tone="failed" /> {label(m)} <span class="t3">failed {since(m) === null ? '' : `${calm(since(m)!)} ago`}</span></a></li>)}</ul>
        </div>
      )}
      <p class="t3 xs fold">Choose a node to see what is held against it. Arrow keys walk.</p>
    </>
  )
}

function SplitPanel({ parts }: { parts: Split }) {
  const e = state.elections[0]
  const bound = state.locks?.defaults.bound ?? 'members'
  const all = parts.near.size + parts.far.size
  const most = Math.max(all, Number(bound.match(/^floor:(\d+)/)?.[1] ?? 0))
  const may = (size: number) => bound === 'available' || size * 2 > most
  const many = parts.islands.length > 1
  const there = (i: number) => (many ? `side ${i + 2}` : 'there')
  const sizes = [parts.near.size, ...parts.islands.map((i) => i.ids.size)]
  return (
    <>
      <h2>Split {parts.sinceMs === null ? '' : `for ${calm(parts.sinceMs)}`}</h2>
      <p class="t2 sm">
        {parts.certain
          ? `The ${many ? sizes.length : 'two'} sides do not hear each other. Each counts the others as failed and goes on alone.`
          : `${parts.far.size} members fell silent within seconds of each other. ${parts.far.size < 4 ? 'They may have failed, or the way to them did.' : 'That is rarely so many failures; it is the way to them.'}`}
      </p>
      <dl class="kv fold">
        <dt>This side</dt><dd><b>{parts.near.size}</b> of {all}</dd>
        {parts.islands.map((i, n) => <><dt>{many ? `Side ${n + 2}` : 'Other side'}</dt><dd>{i.ids.size}, failed by our word</dd></>)}
      </dl>
      <div class="fold">
        <h2>What each side may do</h2>
        <div class="ov-x">
          <table>
            <thead><tr><th></th><th>here</th>{parts.islands.map((_, i) => <th key={i}>{there(i)}</th>)}</tr></thead>
            <tbody>
              {e && (
                <tr>
                  <td>{cut(e.name, 16)}</td>
                  <td class="nw">{e.leader ? <><Icon id="crown" tone="leader" /> {nameOf(e.leader.id, e.leader.name)}</> : 'nobody yet'}</td>
                  {parts.islands.map((i, n) => <td key={n} class="nw">{i.leader ? <><Icon id="crown" tone="leader" /> {nameOf(i.leader)}</> : parts.certain ? 'nobody yet' : 'not known'}</td>)}
                </tr>
              )}
              <tr>
                <td>locks</td>
                {sizes.map((size, i) => <td key={i} class="nw"><Icon id={may(size) ? 'key' : 'left'} tone={may(size) ? 'lock' : 'left'} /> {may(size) ? 'may lock' : 'never'}</td>)}
              </tr>
            </tbody>
          </table>
        </div>
        {e?.leader && <p class="sm t3">Token here <Token token={e.leader.token} /></p>}
        <p class="sm t2">Leaders of different sides have different tokens. A resource that all reach keeps the greatest it saw and refuses smaller ones.</p>
      </div>
      {state.lab && <p class="fold"><button type="button" class="btn" onClick={() => void order({ do: 'heal' })}>Heal <kbd>H</kbd></button></p>}
    </>
  )
}
