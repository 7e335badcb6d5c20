// Draws a simulated network on a canvas: where nodes are, who hears whom, what is under way, who suspects whom.

import { select } from 'd3-selection'
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from 'd3-zoom'
import { GLYPHS } from '../map/glyphs'
import { CRASHED, FAILED, HOLDS, KIND_ELECTION, KIND_HELLO, KIND_INDIRECT, KIND_LOCK, LEFT, PAUSED, positions, State, SUSPECT, Tape, UP, type Flight, type Header } from './tape'

export interface Options {
  range: boolean
  links: boolean
  datagrams: boolean
  leaders: boolean
}

const NAMES = ['bg', 'surface', 'line', 'line2', 'text', 'text2', 'text3', 'accent', 'accent-w', 'alive', 'suspect', 'suspect-m', 'failed', 'leader', 'leader-w', 'lock', 'left', 'sans']
/** How long a datagram is seen at least, in milliseconds of the watcher's time. */
const SEEN_MS = 320
const SPLIT_MS = 600

export class Field {
  private at: ZoomTransform = zoomIdentity
  private readonly zoom: ZoomBehavior<HTMLCanvasElement, unknown>
  private readonly colors: Record<string, string> = {}
  private width = 0
  private height = 0
  private moved = false
  private fitted = false
  private spots = new Float64Array(0)
  /** Where a group without places is drawn, which changes when it is cut. */
  private from = new Float64Array(0)
  private splitKey = ''
  private splitAt = 0
  private hovered = -1
  /** Metres to drawing units. */
  private scale = 1
  readonly still = matchMedia('(prefers-reduced-motion: reduce)')

  constructor(
    private readonly canvas: HTMLCanvasElement,
    readonly tape: Tape,
    pick: (node: number | null) => void,
    private readonly wake: () => void,
  ) {
    this.zoom = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.2, 12])
      .on('zoom', (e) => {
        this.at = e.transform
        if (e.sourceEvent) this.moved = true
        this.wake()
      })
    select(canvas).call(this.zoom).on('dblclick.zoom', null)
    canvas.addEventListener('click', (e) => {
      const hit = this.hit(e)
      pick(hit < 0 ? null : hit)
    })
    canvas.addEventListener('pointermove', (e) => this.hover(this.hit(e)))
    canvas.addEventListener('pointerleave', () => this.hover(-1))
    this.recolor()
  }

  destroy(): void {
    select(this.canvas).on('.zoom', null)
  }

  recolor = (): void => {
    const css = getComputedStyle(document.documentElement)
    for (const name of NAMES) this.colors[name] = css.getPropertyValue(`--${name}`).trim()
    this.wake()
  }

  resize(width: number, height: number): void {
    if (!width || !height) return
    const ratio = Math.min(window.devicePixelRatio || 1, 2)
    this.width = width
    this.height = height
    this.canvas.width = Math.round(width * ratio)
    this.canvas.height = Math.round(height * ratio)
    this.canvas.style.width = `${width}px`
    this.canvas.style.height = `${height}px`
    if (!this.moved) this.fitted = false
    this.wake()
  }

  private hover(node: number): void {
    if (node === this.hovered) return
    this.hovered = node
    this.canvas.style.cursor = node < 0 ? '' : 'pointer'
    this.wake()
  }

  private hit(e: MouseEvent): number {
    const [x, y] = this.at.invert([e.offsetX, e.offsetY])
    let [best, least] = [-1, 18 / Math.min(1, this.at.k)]
    for (let n = 0; n < this.spots.length / 2; n++) {
      const d = Math.hypot(this.spots[2 * n] - x, this.spots[2 * n + 1] - y)
      if (d < least) [best, least] = [n, d]
    }
    return best
  }

  zoomBy(k: number): void {
    this.moved = true
    select(this.canvas).call(this.zoom.scaleBy, k)
  }

  /** The next node in a direction, for arrow keys. */
  walk(from: number | null, dx: number, dy: number): number {
    if (from === null) return 0
    let [best, least] = [from, Infinity]
    for (let n = 0; n < this.spots.length / 2; n++) {
      const [x, y] = [this.spots[2 * n] - this.spots[2 * from], this.spots[2 * n + 1] - this.spots[2 * from + 1]]
      const along = x * dx + y * dy
      const cost = along + Math.abs(x * dy - y * dx) * 2
      if (n !== from && along > 0 && cost < least) [best, least] = [n, cost]
    }
    return best
  }

  /** Shows everything, wherever nodes go. */
  fit(): void {
    this.moved = false
    this.fitted = false
    this.wake()
  }

  private fitNow(header: Header): void {
    this.fitted = true
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity]
    const see = (x: number, y: number) => {
      ;[x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)]
    }
    if (header.full) {
      const r = ring(header.nodes)
      see(-r * 1.7, -r * 1.2)
      see(r * 1.7, r * 1.2)
    } else for (const way of header.ways) for (const [, x, y] of way) see(x * this.scale, y * this.scale)
    const pad = 44
    const [w, h] = [Math.max(1, x1 - x0), Math.max(1, y1 - y0)]
    const [top, bottom] = [68, 56]
    const k = Math.min(2.4, (this.width - 2 * pad) / w, (this.height - top - bottom) / h)
    const t = zoomIdentity.translate(this.width / 2, top + (this.height - top - bottom) / 2).scale(Math.max(0.05, k)).translate(-(x0 + x1) / 2, -(y0 + y1) / 2)
    select(this.canvas).call(this.zoom.transform, t)
  }

  /** Draws the time `t` in microseconds. True when it is not at rest yet. */
  draw(t: number, state: State, speed: number, focus: number | null, selected: number | null, options: Options, now: number): boolean {
    const c = this.canvas.getContext('2d')
    const header = this.tape.header
    if (!c || !header || !this.width) return false
    if (this.spots.length !== 2 * header.nodes) {
      this.spots = new Float64Array(2 * header.nodes)
      this.from = new Float64Array(2 * header.nodes)
      // So that neighbours are some 60 units apart, whatever a metre is here.
      this.scale = header.full ? 1 : spread(header)
    }
    const moving = this.place(header, state, t, now)
    if (!this.fitted) this.fitNow(header)
    const ratio = this.canvas.width / this.width
    c.setTransform(ratio, 0, 0, ratio, 0, 0)
    c.clearRect(0, 0, this.width, this.height)
    c.translate(this.at.x, this.at.y)
    c.scale(this.at.k, this.at.k)
    const px = 1 / this.at.k
    if (options.range && selected !== null && !header.full) this.drawRange(c, header, selected, px)
    if (options.links) this.drawLinks(c, header, state, selected, px)
    if (options.leaders) this.drawLeaders(c, header, state, px)
    if (options.datagrams) {
      const window = (SEEN_MS * 1000 * speed) | 0
      this.drawFlights(c, header, this.tape.flights(t - Math.max(window, 40_000), t), t, window, px)
    }
    this.drawNodes(c, header, state, focus, selected, px)
    this.drawLabels(c, header, state, focus, selected, px)
    return moving
  }

  /** Moves nodes to where they are. A group without places stands in a ring, and in two when it is cut. */
  private place(header: Header, state: State, t: number, now: number): boolean {
    if (!header.full) {
      positions(header, t / 1e6, this.spots)
      for (let i = 0; i < this.spots.length; i++) this.spots[i] *= this.scale
      return false
    }
    const key = state.split ? state.split.join() : ''
    if (key !== this.splitKey) {
      this.splitKey = key
      this.from.set(this.spots)
      this.splitAt = this.spots.some((x) => x !== 0) && !this.still.matches ? now : 0
    }
    const share = Math.min(1, (now - this.splitAt) / SPLIT_MS)
    const ease = 1 - (1 - share) ** 3
    const sides = [...new Set(state.split ?? [0])].sort()
    const n = header.nodes
    const r = ring(n)
    for (let i = 0; i < n; i++) {
      const side = state.split ? state.split[i] : 0
      const peers = state.split ? [...state.split.keys()].filter((j) => state.split![j] === side) : null
      const count = peers ? peers.length : n
      const turn = ((peers ? peers.indexOf(i) : i) / count) * 2 * Math.PI - Math.PI / 2
      const radius = peers ? ring(count) * (count === 1 ? 0 : 1) : r
      const middle = sides.length > 1 ? (sides.indexOf(side) / (sides.length - 1) - 0.5) * 2.2 * r : 0
      const [x, y] = [middle + Math.cos(turn) * radius, Math.sin(turn) * radius]
      this.spots[2 * i] = this.from[2 * i] + (x - this.from[2 * i]) * ease
      this.spots[2 * i + 1] = this.from[2 * i + 1] + (y - this.from[2 * i + 1]) * ease
    }
    return share < 1
  }

  private radius(header: Header): number {
    return header.nodes > 400 ? 4 : header.nodes > 120 ? 6 : header.nodes > 30 ? 8 : 11
  }

  private drawRange(c: CanvasRenderingContext2D, header: Header, n: number, px: number): void {
    c.beginPath()
    c.arc(this.spots[2 * n], this.spots[2 * n + 1], header.range * this.scale, 0, 7)
    c.globalAlpha = 0.5
    c.fillStyle = this.colors['accent-w']
    c.fill()
    c.globalAlpha = 1
    c.setLineDash([4 * px, 4 * px])
    c.lineWidth = 1.3 * px
    c.strokeStyle = this.colors.accent
    c.stroke()
    c.setLineDash([])
  }

  private drawLinks(c: CanvasRenderingContext2D, header: Header, state: State, selected: number | null, px: number): void {
    const draw = (pairs: Iterable<readonly [number, number]>, test: (a: number, b: number) => boolean, color: string, width: number) => {
      c.beginPath()
      for (const [a, b] of pairs) {
        if (!test(a, b)) continue
        c.moveTo(this.spots[2 * a], this.spots[2 * a + 1])
        c.lineTo(this.spots[2 * b], this.spots[2 * b + 1])
      }
      c.strokeStyle = color
      c.lineWidth = width * px
      c.stroke()
    }
    const pairs = header.moving ? [...state.links].map((key) => [Math.floor(key / header.nodes), key % header.nodes] as const) : header.links
    const works = (a: number, b: number) => state.hosts[a] !== CRASHED && state.hosts[b] !== CRASHED && (!state.split || state.split[a] === state.split[b])
    draw(pairs, works, this.colors.line2, header.nodes > 120 ? 0.7 : 1)
    if (selected !== null) draw(pairs, (a, b) => works(a, b) && (a === selected || b === selected), this.colors.accent, 1.6)
  }

  /** From everybody to the leader that it follows; dashed where an oracle that sees everything says another. */
  private drawLeaders(c: CanvasRenderingContext2D, header: Header, state: State, px: number): void {
    header.elections.forEach((_, e) => {
      for (const wrong of [false, true]) {
        c.beginPath()
        for (let n = 0; n < header.nodes; n++) {
          const leader = state.follows[e][n]
          if (leader < 0 || leader === n || state.hosts[n] !== UP || (state.ought[n] >= 0 && state.ought[n] !== leader) !== wrong) continue
          c.moveTo(this.spots[2 * n], this.spots[2 * n + 1])
          c.lineTo(this.spots[2 * leader], this.spots[2 * leader + 1])
        }
        c.globalAlpha = wrong ? 0.9 : 0.42
        c.strokeStyle = this.colors[wrong ? 'suspect-m' : 'leader']
        c.lineWidth = (wrong ? 1.6 : 1.2) * px
        c.setLineDash(wrong ? [5 * px, 4 * px] : [])
        c.stroke()
      }
      c.setLineDash([])
      c.globalAlpha = 1
    })
  }

  private drawFlights(c: CanvasRenderingContext2D, header: Header, flights: Flight[], t: number, window: number, px: number): void {
    const color = (kind: number) => this.colors[kind === KIND_INDIRECT ? 'suspect-m' : kind === KIND_ELECTION ? 'leader' : kind === KIND_LOCK ? 'lock' : 'accent']
    for (const f of flights) {
      const last = Math.max(f.delay, window, 1)
      const share = (t - f.at) / last
      if (share > 1) continue
      const [x, y] = [this.spots[2 * f.from], this.spots[2 * f.from + 1]]
      c.strokeStyle = c.fillStyle = color(f.kind)
      if (f.to < 0) {
        c.globalAlpha = (1 - share) * (f.kind === KIND_HELLO ? 0.14 : 0.34)
        c.lineWidth = (f.kind === KIND_HELLO ? 1 : 1.6) * px
        c.beginPath()
        c.arc(x, y, header.range * this.scale * Math.sqrt(share), 0, 7)
        c.stroke()
        continue
      }
      const reach = f.delay < 0 ? Math.min(share, 0.55) : share
      const [dx, dy] = [(this.spots[2 * f.to] - x) * reach, (this.spots[2 * f.to + 1] - y) * reach]
      c.globalAlpha = 0.5 * (1 - share)
      c.lineWidth = 1.2 * px
      c.beginPath()
      c.moveTo(x, y)
      c.lineTo(x + dx, y + dy)
      c.stroke()
      c.globalAlpha = f.delay < 0 && share > 0.55 ? 1 - share : 0.9
      if (f.delay < 0 && share > 0.55) this.glyph(c, 'failed', x + dx, y + dy, 8 * px, this.colors.failed)
      else {
        c.beginPath()
        c.arc(x + dx, y + dy, 2.4 * px, 0, 7)
        c.fill()
      }
    }
    c.globalAlpha = 1
  }

  private drawNodes(c: CanvasRenderingContext2D, header: Header, state: State, focus: number | null, selected: number | null, px: number): void {
    const r = this.radius(header) * Math.max(0.55, Math.min(1.4, px))
    const others = Math.max(1, state.running() - 1)
    // Once all hold it failed, the arc around it says so, and the others need no ring.
    const spreading = focus !== null && state.verdicts[focus] < state.running() - Number(state.hosts[focus] === UP)
    const circle = (n: number, radius: number) => {
      c.beginPath()
      c.arc(this.spots[2 * n], this.spots[2 * n + 1], radius, 0, 7)
    }
    // Those that are well, in one go.
    c.beginPath()
    for (let n = 0; n < header.nodes; n++) {
      if (state.hosts[n] !== UP) continue
      const [x, y] = [this.spots[2 * n], this.spots[2 * n + 1]]
      c.moveTo(x + r, y)
      c.arc(x, y, r, 0, 7)
    }
    c.fillStyle = this.colors.alive
    c.fill()
    for (let n = 0; n < header.nodes; n++) {
      const [x, y] = [this.spots[2 * n], this.spots[2 * n + 1]]
      const host = state.hosts[n]
      if (host !== UP) {
        circle(n, r + 3)
        c.fillStyle = this.colors.bg
        c.fill()
        // That it crashed is so; that it failed is what the others hold, at last all of them.
        const known = state.verdicts[n] >= state.running()
        const glyph = host === CRASHED ? (known ? 'failed' : 'crash') : host === PAUSED ? 'paused' : 'left'
        this.glyph(c, glyph, x, y, r * 2.2, this.colors[host === CRASHED ? (known ? 'failed' : 'text') : host === LEFT ? 'left' : 'text3'])
      }
      const [doubt, verdict] = [state.suspects[n] / others, state.verdicts[n] / others]
      if (doubt || verdict) this.share(c, x, y, r + 6, verdict, doubt, px)
      // What this one thinks of the node in question.
      if (spreading && n !== focus && host === UP) {
        const opinion = state.opinion(focus!, n)
        if (opinion === SUSPECT || opinion === FAILED) {
          circle(n, r + 3.2)
          c.strokeStyle = this.colors[opinion === FAILED ? 'failed' : 'suspect-m']
          c.lineWidth = 2.6 * Math.max(0.7, px)
          c.setLineDash([3.4, 2.4])
          c.stroke()
          c.setLineDash([])
        }
      }
      const how = state.impaired.get(n)
      if (how) {
        circle(n, r + 4)
        c.strokeStyle = this.colors.text2
        c.lineWidth = 1.6
        c.setLineDash([1.5, 3])
        c.stroke()
        c.setLineDash([])
      }
    }
    state.acts.forEach((acts) => {
      for (const n of acts) {
        if (state.hosts[n] !== UP && state.hosts[n] !== PAUSED) continue
        circle(n, r + 5)
        c.strokeStyle = this.colors.leader
        c.lineWidth = 2.2
        c.stroke()
        this.glyph(c, 'crown', this.spots[2 * n], this.spots[2 * n + 1] - r - 15, 17, this.colors.leader)
      }
    })
    state.locks.forEach((lock) => {
      for (const [n, is] of lock) {
        const [x, y] = [this.spots[2 * n] + r + 8, this.spots[2 * n + 1] - r - 4]
        if (is === HOLDS) {
          this.glyph(c, 'body', x, y, 15, this.colors.lock)
          this.glyph(c, 'shackle', x, y, 15, this.colors.lock)
        } else {
          circle(n, r + 4)
          c.strokeStyle = this.colors.lock
          c.lineWidth = 2
          c.setLineDash([1.5, 3.5])
          c.stroke()
          c.setLineDash([])
        }
      }
    })
    for (const n of [focus, selected]) {
      if (n === null) continue
      circle(n, r + 10)
      c.strokeStyle = this.colors[n === selected ? 'accent' : 'text3']
      c.lineWidth = n === selected ? 2.2 : 1.4
      c.stroke()
    }
  }

  /** An arc around a node: which share of the others holds it failed, and which suspects it. */
  private share(c: CanvasRenderingContext2D, x: number, y: number, r: number, verdict: number, doubt: number, px: number): void {
    const start = -Math.PI / 2
    const turn = 2 * Math.PI
    const width = 3 * Math.max(0.7, px)
    const arc = (from: number, to: number, color: string) => {
      if (to <= from) return
      c.beginPath()
      c.arc(x, y, r, start + turn * from, start + turn * Math.min(1, to))
      c.strokeStyle = color
      c.lineWidth = width
      c.stroke()
    }
    arc(0, 1, this.colors.line)
    arc(0, verdict, this.colors.failed)
    arc(verdict, verdict + doubt, this.colors['suspect-m'])
  }

  private drawLabels(c: CanvasRenderingContext2D, header: Header, state: State, focus: number | null, selected: number | null, px: number): void {
    const all = header.nodes <= 24 || (header.nodes <= 100 && px < 0.7) || px < 0.4
    const size = 12.5 * Math.max(0.35, Math.min(1.2, px))
    const r = this.radius(header) * Math.max(0.55, Math.min(1.4, px))
    c.font = `500 ${size}px ${this.colors.sans}`
    c.textAlign = 'center'
    c.lineJoin = 'round'
    for (let n = 0; n < header.nodes; n++) {
      const wanted = all || n === selected || n === focus || n === this.hovered || (state.hosts[n] !== UP && header.nodes <= 120) || (header.nodes <= 120 && state.acts.some((a) => a.has(n)))
      if (!wanted) continue
      const [x, y] = [this.spots[2 * n], this.spots[2 * n + 1] + r + size + (n === selected || n === focus || state.suspects[n] + state.verdicts[n] ? 10 : 4)]
      c.lineWidth = size / 3.2
      c.strokeStyle = this.colors.bg
      c.strokeText(String(n), x, y)
      c.fillStyle = this.colors.text
      c.fillText(String(n), x, y)
    }
  }

  private glyph(c: CanvasRenderingContext2D, id: keyof typeof GLYPHS, x: number, y: number, size: number, color: string): void {
    c.save()
    c.translate(x - size / 2, y - size / 2)
    c.scale(size / 16, size / 16)
    c.lineCap = c.lineJoin = 'round'
    c.strokeStyle = c.fillStyle = color
    if (id === 'crown' || id === 'body') c.fill(GLYPHS[id])
    else {
      c.lineWidth = id === 'shackle' ? 1.8 : 3
      c.stroke(GLYPHS[id])
    }
    c.restore()
  }
}

/** The ring of a group of which all hear all. */
function ring(nodes: number): number {
  return Math.max(90, (nodes * 62) / (2 * Math.PI))
}

/** Units of drawing for a metre. */
function spread(header: Header): number {
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity]
  for (const way of header.ways) {
    for (const [, x, y] of way) [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)]
  }
  const side = Math.max(x1 - x0, y1 - y0, 1e-6)
  return (Math.sqrt(header.nodes) * 58) / side
}
