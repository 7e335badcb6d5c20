// Draws the map on a canvas: one way for five nodes and for five hundred. Nothing is drawn while nothing moves.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation, type SimulationNodeDatum } from 'd3-force'
import { select } from 'd3-selection'
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from 'd3-zoom'
import { GLYPHS } from './glyphs'
import { hull, targets, type Mode } from './layout'

export interface Node {
  id: string
  label: string
  sub: string
  status: 'alive' | 'suspect' | 'failed' | 'left' | 'beyond' | 'paused'
  /** 0 is the side of the agent that answers. */
  side: number
  place: [number, number, number, number] | null
  leads: boolean
  holds: boolean
  accuses: boolean
  important: boolean
}

export interface Model {
  nodes: Node[]
  links: [string, string][]
  accusations: [string, string][]
  mode: Mode
  /** Titles of the sides, when the group is split. */
  sides: string[] | null
  selected: string | null
}

interface Body extends SimulationNodeDatum, Node {
  tx: number
  ty: number
  x: number
  y: number
  /** When it last changed, for a ring. */
  ringAt: number
  ring: 'out' | 'in'
}

const RING_MS = 600
const WAVE_MS = 2400

export class Chart {
  private bodies: Body[] = []
  /** Trouble last, so that it is drawn on top. */
  private order: Body[] = []
  private links: [Body, Body][] = []
  private model: Model = { nodes: [], links: [], accusations: [], mode: 'rtt', sides: null, selected: null }
  private readonly sim: Simulation<Body, undefined>
  private readonly zoom: ZoomBehavior<HTMLCanvasElement, unknown>
  private at: ZoomTransform = zoomIdentity
  private colors: Record<string, string> = {}
  private frame = 0
  private hovered: string | null = null
  private moved = false
  private shape = ''
  private width = 0
  private height = 0
  private readonly still = matchMedia('(prefers-reduced-motion: reduce)')
  measured = false

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly pick: (id: string | null) => void,
  ) {
    this.sim = forceSimulation<Body>([]).alphaDecay(0.045).velocityDecay(0.42).stop()
    this.zoom = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([0.2, 8])
      .on('zoom', (e) => {
        this.at = e.transform
        if (e.sourceEvent) this.moved = true
        this.wake()
      })
    select(canvas).call(this.zoom).on('dblclick.zoom', null)
    canvas.addEventListener('pointermove', this.hover)
    canvas.addEventListener('pointerleave', () => this.setHover(null))
    canvas.addEventListener('click', (e) => this.pick(this.hit(e)))
    this.recolor()
  }

  destroy(): void {
    cancelAnimationFrame(this.frame)
    this.sim.stop()
    select(this.canvas).on('.zoom', null)
  }

  recolor = (): void => {
    const css = getComputedStyle(document.documentElement)
    for (const name of ['bg', 'surface', 'line', 'line2', 'text', 'text2', 'text3', 'accent', 'island', 'alive', 'suspect', 'suspect-m', 'suspect-w', 'failed', 'leader', 'leader-w', 'lock', 'left', 'sans']) {
      this.colors[name] = css.getPropertyValue(`--${name}`).trim()
    }
    this.colors.beyond = this.colors.alive
    this.colors.paused = this.colors.text3
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
    if (!this.moved) this.fit()
    this.wake()
  }

  update(model: Model): void {
    const before = new Map(this.bodies.map((b) => [b.id, b]))
    const now = performance.now()
    const sizes = `${model.mode} ${model.nodes.map((n) => `${n.id}${n.side}`).join()} ${model.links.length}`
    const { at, measured } = targets(model.nodes, model.mode)
    this.measured = measured
    let strayed = false
    this.bodies = model.nodes.map((n) => {
      const t = at.get(n.id)!
      const old = before.get(n.id)
      if (!old) {
        const fresh = before.size > 0
        return { ...n, tx: t.x, ty: t.y, x: t.x * (fresh ? 1.2 : 1), y: t.y * (fresh ? 1.2 : 1), vx: 0, vy: 0, ringAt: 0, ring: 'out' as const }
      }
      if (old.status !== n.status) {
        old.ringAt = now
        old.ring = n.status === 'failed' ? 'in' : 'out'
      }
      // Estimates tremble: a target moves when it moved for certain.
      const far = Math.hypot(t.x - old.tx, t.y - old.ty) > (measured ? 26 : 0)
      strayed ||= far
      return Object.assign(old, n, far ? { tx: t.x, ty: t.y } : {})
    })
    this.order = [...this.bodies].sort((a, b) => Number(a.status !== 'alive') - Number(b.status !== 'alive'))
    const byId = new Map(this.bodies.map((b) => [b.id, b]))
    this.links = model.links.flatMap(([a, b]) => {
      const [from, to] = [byId.get(a), byId.get(b)]
      return from && to ? [[from, to] as [Body, Body]] : []
    })
    for (const [, to] of model.accusations) {
      const count = model.accusations.filter(([, t]) => t === to).length
      const known = this.model.accusations.filter(([, t]) => t === to).length
      const body = byId.get(to)
      if (body && count > known) Object.assign(body, { ringAt: now, ring: 'out' })
    }
    this.model = model
    if (sizes !== this.shape) {
      const first = this.shape === ''
      this.shape = sizes
      this.arrange()
      this.sim.alpha(first ? 1 : 0.5)
      if (first || this.still.matches) this.sim.tick(first ? 120 : 200)
      if (this.still.matches) this.sim.alpha(0)
      if (!this.moved) this.fit()
    } else if (strayed) {
      this.arrange()
      if (this.sim.alpha() < 0.1) this.sim.alpha(0.1)
    }
    this.wake()
  }

  /** Takes the forces anew: they read where each node is drawn to when they are made. */
  private arrange(): void {
    const [n, r] = [this.bodies.length, this.radius()]
    const { mode, sides } = this.model
    this.sim.nodes(this.bodies)
    this.sim.force('collide', forceCollide<Body>(n > 100 ? r + 2 : r + 16))
    if (mode === 'hops' && this.links.length) {
      this.sim.force('x', forceX<Body>((b) => (b.side ? 220 : sides ? -120 : 0)).strength(0.05)).force('y', forceY<Body>((b) => (sides && sides.length > 2 && b.side ? (b.side - sides.length / 2) * 260 : 0)).strength(0.05))
      this.sim.force('charge', forceManyBody<Body>().strength(n > 100 ? -40 : -260))
      this.sim.force('link', forceLink<Body, { source: Body; target: Body }>(this.links.map(([source, target]) => ({ source, target }))).distance(74))
    } else {
      this.sim.force('x', forceX<Body>((b) => b.tx).strength(0.45)).force('y', forceY<Body>((b) => b.ty).strength(0.45))
      this.sim.force('charge', null).force('link', null)
    }
  }

  /** Shows everything. */
  fit(): void {
    this.moved = false
    if (!this.bodies.length || !this.width) return
    const hops = this.model.mode === 'hops'
    const xs = this.bodies.map((b) => (hops ? b.x : b.tx))
    const ys = this.bodies.map((b) => (hops ? b.y : b.ty))
    const pad = this.model.sides ? 96 : 64
    const [x0, x1, y0, y1] = [Math.min(...xs) - pad, Math.max(...xs) + pad, Math.min(...ys) - pad, Math.max(...ys) + pad]
    const [top, bottom] = [this.model.sides ? 92 : 56, 64]
    const k = Math.min(1.4, this.width / (x1 - x0), (this.height - top - bottom) / (y1 - y0))
    const t = zoomIdentity.translate(this.width / 2, top + (this.height - top - bottom) / 2).scale(k).translate(-(x0 + x1) / 2, -(y0 + y1) / 2)
    select(this.canvas).call(this.zoom.transform, t)
  }

  zoomBy(k: number): void {
    this.moved = true
    select(this.canvas).call(this.zoom.scaleBy, k)
  }

  /** The node next to the chosen one in a direction. */
  walk(dx: number, dy: number): string | null {
    const from = this.bodies.find((b) => b.id === this.model.selected)
    if (!from) return this.bodies[0]?.id ?? null
    let best: Body | null = null
    let least = Infinity
    for (const b of this.bodies) {
      const along = (b.x - from.x) * dx + (b.y - from.y) * dy
      const across = Math.abs((b.x - from.x) * dy - (b.y - from.y) * dx)
      if (b === from || along <= 0) continue
      const cost = along + across * 2
      if (cost < least) [least, best] = [cost, b]
    }
    return best?.id ?? from.id
  }

  private hit(e: MouseEvent): string | null {
    const [x, y] = this.at.invert([e.offsetX, e.offsetY])
    const near = this.sim.find(x, y, Math.max(18, this.radius() + 10) / Math.min(1, this.at.k))
    return near?.id ?? null
  }

  private hover = (e: PointerEvent) => this.setHover(this.hit(e))

  private setHover(id: string | null): void {
    if (id === this.hovered) return
    this.hovered = id
    this.canvas.style.cursor = id ? 'pointer' : ''
    this.wake()
  }

  private radius(): number {
    const n = this.bodies.length
    return n > 100 ? 4.5 : n > 24 ? 7 : 11
  }

  private wake(): void {
    if (!this.frame) this.frame = requestAnimationFrame(this.step)
  }

  private step = (now: number): void => {
    this.frame = 0
    const moving = this.sim.alpha() > 0.012
    if (moving) this.sim.tick()
    const waves = !this.still.matches && this.bodies.some((b) => b.status === 'suspect' || now - b.ringAt < RING_MS)
    this.draw(now)
    if (moving || waves) this.wake()
  }

  // ---------- drawing ----------

  private draw(now: number): void {
    const c = this.canvas.getContext('2d')
    if (!c) return
    const ratio = this.canvas.width / Math.max(1, this.width)
    c.setTransform(ratio, 0, 0, ratio, 0, 0)
    c.clearRect(0, 0, this.width, this.height)
    c.translate(this.at.x, this.at.y)
    c.scale(this.at.k, this.at.k)
    const many = this.bodies.length > 100
    if (this.model.sides) this.drawSides(c)
    if (!many || this.at.k > 2 || this.model.selected) this.drawLinks(c, many && this.at.k <= 2)
    this.drawAccusations(c)
    if (many) this.drawCrowd(c)
    for (const b of this.order) {
      if (!many || b.status !== 'alive' || b.leads || b.holds || b.accuses || b.id === this.model.selected || now - b.ringAt < RING_MS) this.drawNode(c, b, now)
    }
    this.drawLabels(c)
  }

  /** Those that are well, in one go. */
  private drawCrowd(c: CanvasRenderingContext2D): void {
    const r = this.radius()
    c.beginPath()
    for (const b of this.bodies) {
      if (b.status !== 'alive') continue
      c.moveTo(b.x + r, b.y)
      c.arc(b.x, b.y, r, 0, 7)
    }
    c.fillStyle = this.colors.alive
    c.fill()
  }

  private drawSides(c: CanvasRenderingContext2D): void {
    const wide = 88
    this.model.sides!.forEach((title, side) => {
      const corners = hull(this.bodies.filter((b) => b.side === side))
      if (!corners.length) return
      const line = side ? this.colors.line2 : this.colors.accent
      const fill = side ? this.colors.surface : this.colors.island
      for (const [color, width] of [[line, wide + 3], [fill, wide]] as const) {
        c.beginPath()
        corners.forEach((p, i) => (i ? c.lineTo(p.x, p.y) : c.moveTo(p.x, p.y)))
        if (corners.length === 1) c.lineTo(corners[0].x + 0.01, corners[0].y)
        c.closePath()
        c.lineJoin = c.lineCap = 'round'
        c.lineWidth = width
        c.strokeStyle = c.fillStyle = color
        c.stroke()
        c.fill()
      }
      const xs = corners.map((p) => p.x)
      const x = (Math.min(...xs) + Math.max(...xs)) / 2
      const y = Math.min(...corners.map((p) => p.y)) - wide / 2 - 16
      this.text(c, title, x, y, `600 15px ${this.colors.sans}`, this.colors.text)
    })
    for (let side = 1; side < this.model.sides!.length; side++) this.drawCut(c, side, wide)
  }

  /** The line between this side and another one, crossed out. */
  private drawCut(c: CanvasRenderingContext2D, side: number, wide: number): void {
    const [near, far] = [this.bodies.filter((b) => b.side === 0), this.bodies.filter((b) => b.side === side)]
    if (!near.length || !far.length) return
    const mean = (all: Body[]) => ({ x: all.reduce((s, b) => s + b.x, 0) / all.length, y: all.reduce((s, b) => s + b.y, 0) / all.length })
    const [a, b] = [mean(near), mean(far)]
    const d = Math.hypot(b.x - a.x, b.y - a.y) || 1
    const [ux, uy] = [(b.x - a.x) / d, (b.y - a.y) / d]
    const along = (p: Body) => (p.x - a.x) * ux + (p.y - a.y) * uy
    const [from, to] = [Math.max(...near.map(along)) + wide / 2 + 4, Math.min(...far.map(along)) - wide / 2 - 4]
    if (!(to > from)) return
    const [x, y] = [a.x + (ux * (from + to)) / 2, a.y + (uy * (from + to)) / 2]
    c.strokeStyle = this.colors.failed
    c.lineWidth = 2
    c.setLineDash([2, 6])
    c.beginPath()
    c.moveTo(a.x + ux * from, a.y + uy * from)
    c.lineTo(a.x + ux * to, a.y + uy * to)
    c.stroke()
    c.setLineDash([])
    c.beginPath()
    c.arc(x, y, 13, 0, 7)
    c.fillStyle = this.colors.bg
    c.fill()
    c.lineWidth = 1.6
    c.stroke()
    this.glyph(c, 'failed', x, y, 11, this.colors.failed)
  }

  private drawLinks(c: CanvasRenderingContext2D, onlyChosen: boolean): void {
    const chosen = this.model.selected
    for (const [a, b] of this.links) {
      const near = a.id === chosen || b.id === chosen
      if (onlyChosen && !near) continue
      const dead = a.status === 'failed' || b.status === 'failed'
      c.strokeStyle = near ? this.colors.accent : this.colors.line2
      c.globalAlpha = near ? 0.8 : 1
      c.lineWidth = near ? 1.8 : 1.3
      c.setLineDash(dead ? [3, 6] : [])
      c.beginPath()
      c.moveTo(a.x, a.y)
      c.lineTo(b.x, b.y)
      c.stroke()
    }
    c.setLineDash([])
    c.globalAlpha = 1
  }

  private drawAccusations(c: CanvasRenderingContext2D): void {
    const byId = new Map(this.bodies.map((b) => [b.id, b]))
    const r = this.radius()
    for (const [from, to] of this.model.accusations) {
      const [a, b] = [byId.get(from), byId.get(to)]
      if (!a || !b) continue
      const [dx, dy] = [b.x - a.x, b.y - a.y]
      const d = Math.hypot(dx, dy) || 1
      const [ux, uy] = [dx / d, dy / d]
      const [x0, y0, x1, y1] = [a.x + ux * (r + 8), a.y + uy * (r + 8), b.x - ux * (r + 14), b.y - uy * (r + 14)]
      c.strokeStyle = c.fillStyle = this.colors['suspect-m']
      c.lineWidth = 2
      c.setLineDash([5, 4])
      c.beginPath()
      c.moveTo(x0, y0)
      c.lineTo(x1, y1)
      c.stroke()
      c.setLineDash([])
      c.beginPath()
      c.moveTo(x1 + ux * 7, y1 + uy * 7)
      c.lineTo(x1 - uy * 4.5, y1 + ux * 4.5)
      c.lineTo(x1 + uy * 4.5, y1 - ux * 4.5)
      c.fill()
    }
  }

  private drawNode(c: CanvasRenderingContext2D, b: Body, now: number): void {
    const many = this.bodies.length > 100
    let r = this.radius()
    if (many && b.status !== 'alive') r += 2
    const color = this.colors[b.status]
    if (!this.still.matches) this.drawRings(c, b, now, r)
    const back = this.model.sides ? (b.side ? this.colors.surface : this.colors.island) : this.colors.bg
    const circle = (radius: number) => {
      c.beginPath()
      c.arc(b.x, b.y, radius, 0, 7)
    }
    if (!many || b.leads) {
      circle(b.leads ? r + 11 : r + 4)
      c.fillStyle = b.leads ? this.colors['leader-w'] : back
      c.fill()
      if (b.leads) {
        c.strokeStyle = this.colors.leader
        c.lineWidth = 2.5
        c.stroke()
      }
    }
    if (b.accuses) {
      circle(r + 6)
      c.strokeStyle = this.colors['suspect-m']
      c.lineWidth = 2.2
      c.setLineDash([4, 3])
      c.stroke()
      c.setLineDash([])
    }
    if (b.id === this.model.selected) {
      circle(r + (b.leads ? 15 : 8))
      c.strokeStyle = this.colors.accent
      c.lineWidth = 2.2
      c.stroke()
    }
    if (b.status === 'alive') {
      circle(r)
      c.fillStyle = color
      c.fill()
    } else if (b.status === 'beyond') {
      circle(r - 1)
      c.strokeStyle = color
      c.lineWidth = Math.max(2, r / 4)
      c.setLineDash([r / 2.4, r / 3])
      c.stroke()
      c.setLineDash([])
    } else this.glyph(c, b.status, b.x, b.y, r * 2.2, color)
    if (b.leads) this.glyph(c, 'crown', b.x, b.y - r - 24, 20, this.colors.leader)
    if (b.holds) {
      this.glyph(c, 'body', b.x + r + 10, b.y - r - 7, 15, this.colors.lock)
      this.glyph(c, 'shackle', b.x + r + 10, b.y - r - 7, 15, this.colors.lock)
    }
  }

  private drawRings(c: CanvasRenderingContext2D, b: Body, now: number, r: number): void {
    const ring = (share: number, color: string, reach: number) => {
      c.globalAlpha = Math.max(0, 0.9 * (1 - share))
      c.strokeStyle = color
      c.lineWidth = 2
      c.beginPath()
      c.arc(b.x, b.y, r + reach * share, 0, 7)
      c.stroke()
      c.globalAlpha = 1
    }
    const age = now - b.ringAt
    if (b.ringAt && age < RING_MS) {
      const share = age / RING_MS
      if (b.ring === 'in') ring(1 - share, this.colors.failed, 34)
      else ring(share, b.status === 'suspect' ? this.colors['suspect-m'] : this.colors.alive, 44)
    } else if (b.status === 'suspect') ring((now % WAVE_MS) / WAVE_MS, this.colors['suspect-m'], 52)
  }

  private glyph(c: CanvasRenderingContext2D, id: string, x: number, y: number, size: number, color: string): void {
    c.save()
    c.translate(x - size / 2, y - size / 2)
    c.scale(size / 16, size / 16)
    c.lineCap = c.lineJoin = 'round'
    c.strokeStyle = c.fillStyle = color
    if (id === 'suspect') {
      c.lineWidth = 1.2
      c.fill(GLYPHS.suspect)
      c.stroke(GLYPHS.suspect)
      c.strokeStyle = this.colors.bg
      c.lineWidth = 1.7
      c.stroke(GLYPHS.bang)
    } else if (id === 'crown' || id === 'body') c.fill(GLYPHS[id])
    else {
      c.lineWidth = id === 'shackle' ? 1.8 : 3
      c.stroke(GLYPHS[id as 'failed'] ?? GLYPHS.left)
    }
    c.restore()
  }

  private drawLabels(c: CanvasRenderingContext2D): void {
    const n = this.bodies.length
    const r = this.radius()
    const k = Math.max(0.75, Math.min(1.15, 1 / this.at.k))
    const all = n <= 24 || (n <= 100 && this.at.k > 1.1) || this.at.k > 3
    const taken: [number, number, number, number][] = []
    const wanted = this.bodies.filter((b) => all || b.important || b.id === this.model.selected || b.id === this.hovered)
    for (const b of wanted.sort((a, b) => rank(b, this) - rank(a, this))) {
      const w = b.label.length * 7 * k
      const box: [number, number, number, number] = [b.x - w / 2, b.y + r, b.x + w / 2, b.y + r + 22 * k]
      const forced = b.id === this.model.selected || b.id === this.hovered
      if (!forced && n > 24 && taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) continue
      taken.push(box)
      const y = b.y + r + (b.leads ? 11 : 0) + 17 * k
      this.text(c, b.label, b.x, y, `500 ${13 * k}px ${this.colors.sans}`, this.colors.text)
      if (b.sub && n <= 60) this.text(c, b.sub, b.x, y + 15 * k, `400 ${12 * k}px ${this.colors.sans}`, b.status === 'failed' ? this.colors.failed : b.status === 'suspect' ? this.colors.suspect : this.colors.text2)
    }
  }

  isHovered(id: string): boolean {
    return id === this.hovered
  }

  private text(c: CanvasRenderingContext2D, text: string, x: number, y: number, font: string, color: string): void {
    c.font = font
    c.textAlign = 'center'
    c.lineJoin = 'round'
    c.lineWidth = 4
    c.strokeStyle = this.colors.bg
    c.strokeText(text, x, y)
    c.fillStyle = color
    c.fillText(text, x, y)
  }
}

function rank(b: Body, chart: Chart): number {
  return Number(chart.isHovered(b.id)) * 8 + Number(b.status !== 'alive') * 4 + Number(b.leads) * 2 + Number(b.holds)
}
