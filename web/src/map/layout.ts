// Where nodes go: by estimated round trips, by links, by announced positions; sides of a split apart.

export type Mode = 'rtt' | 'hops' | 'positions'

export interface Placed {
  id: string
  /** 0 is the side of the agent that answers. */
  side: number
  place: [number, number, number, number] | null
}

export interface Target {
  x: number
  y: number
}

/** Between the sides of a split. */
const GAP = 130

/** Below this spread, in microseconds, distances tell nothing. */
const SPREAD_MIN = 1000

/** Targets of all nodes, and whether they come from distances. Nodes come in the order they are to stand in. */
export function targets(nodes: Placed[], mode: Mode): { at: Map<string, Target>; measured: boolean } {
  const measured = nodes.length > 2 && nodes.every((n) => n.place) && (mode === 'positions' || spread(nodes) > SPREAD_MIN)
  const at = new Map<string, Target>()
  const last = Math.max(0, ...nodes.map((n) => n.side))
  const sides = Array.from({ length: last + 1 }, (_, side) => nodes.filter((n) => n.side === side))
  const discs = sides.map((side) => (measured ? project(side, mode) : ring(side)))
  const radius = discs.map((disc) => Math.max(40, ...[...disc.values()].map((t) => Math.hypot(t.x, t.y))))
  // The others stand right of this side, one above the other.
  const others = radius.slice(1)
  const tall = others.reduce((sum, r) => sum + 2 * r, 0) + GAP * Math.max(0, others.length - 1)
  const wide = Math.max(0, ...others)
  const whole = last ? radius[0] + wide + GAP : 0
  let y = -tall / 2
  discs.forEach((disc, i) => {
    const centre = i ? { x: whole / 2, y: last > 1 ? y + radius[i] : 0 } : { x: -whole / 2 + wide * 0.15, y: 0 }
    if (i) y += 2 * radius[i] + GAP
    for (const [id, t] of disc) at.set(id, { x: t.x + centre.x, y: t.y + centre.y })
  })
  return { at, measured }
}

/** A circle while that is clear, then a spiral that fills a disc evenly. */
function ring(nodes: Placed[]): Map<string, Target> {
  const at = new Map<string, Target>()
  const n = nodes.length
  const r = n < 2 ? 0 : Math.max(n < 4 ? 80 : 135, (n * 62) / (2 * Math.PI))
  nodes.forEach((node, i) => {
    if (n <= 24) {
      const angle = (2 * Math.PI * i) / n - Math.PI / 2
      at.set(node.id, { x: r * Math.cos(angle), y: r * Math.sin(angle) })
    } else {
      const angle = i * 2.399963
      const far = (n > 100 ? 17 : 34) * Math.sqrt(i + 0.5)
      at.set(node.id, { x: far * Math.cos(angle), y: far * Math.sin(angle) })
    }
  })
  return at
}

function distance(a: Placed, b: Placed): number {
  return Math.hypot(...[0, 1, 2].map((i) => a.place![i] - b.place![i])) + a.place![3] + b.place![3]
}

/** Median distance of some pairs. */
function spread(nodes: Placed[]): number {
  const all = []
  for (let i = 0; i < nodes.length; i++) {
    for (let k = 1; k <= 4; k++) {
      const other = nodes[(i + k * 7 + 1) % nodes.length]
      if (other !== nodes[i]) all.push(distance(nodes[i], other))
    }
  }
  return all.sort((a, b) => a - b)[all.length >> 1] ?? 0
}

/** The plane in which the places differ most, scaled to a readable size. */
function project(nodes: Placed[], mode: Mode): Map<string, Target> {
  const at = new Map<string, Target>()
  if (!nodes.length) return at
  const points = nodes.map((n) => n.place!.slice(0, 3))
  const mean = [0, 1, 2].map((i) => points.reduce((sum, p) => sum + p[i], 0) / points.length)
  const centred = points.map((p) => p.map((v, i) => v - mean[i]))
  let flat: [number, number][]
  if (mode === 'positions') flat = centred.map((p) => [p[0], -p[1]])
  else {
    const first = axis(centred, null)
    const second = axis(centred, first)
    flat = centred.map((p) => [dot(p, first), dot(p, second)])
  }
  const size = Math.sqrt(flat.reduce((sum, [x, y]) => sum + x * x + y * y, 0) / flat.length) || 1
  const scale = (nodes.length > 100 ? 14 : 46) * Math.sqrt(nodes.length) / size
  nodes.forEach((n, i) => at.set(n.id, { x: flat[i][0] * scale, y: flat[i][1] * scale }))
  return at
}

function dot(a: number[], b: number[]): number {
  return a.reduce((sum, v, i) => sum + v * b[i], 0)
}

/** The direction of greatest variance, by power iteration; across `other` if given. */
function axis(points: number[][], other: number[] | null): number[] {
  let v = other ? [-other[1], other[0], 0.3] : [1, 0.3, 0.1]
  for (let round = 0; round < 24; round++) {
    const next = [0, 0, 0]
    for (const p of points) {
      const along = dot(p, v)
      for (let i = 0; i < 3; i++) next[i] += p[i] * along
    }
    if (other) {
      const back = dot(next, other)
      for (let i = 0; i < 3; i++) next[i] -= other[i] * back
    }
    const length = Math.hypot(...next)
    if (length < 1e-9) return other ? [-other[1], other[0], 0] : [1, 0, 0]
    v = next.map((x) => x / length)
  }
  return v
}

/** Corners of the convex hull, in order. */
export function hull(points: Target[]): Target[] {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y)
  const cross = (o: Target, a: Target, b: Target) => (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x)
  const half = (list: Target[]) => {
    const out: Target[] = []
    for (const p of list) {
      while (out.length > 1 && cross(out[out.length - 2], out[out.length - 1], p) <= 0) out.pop()
      out.push(p)
    }
    out.pop()
    return out
  }
  return sorted.length < 3 ? sorted : [...half(sorted), ...half([...sorted].reverse())]
}
