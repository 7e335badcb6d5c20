// Reads recordings of simulations: docs/RECORDINGS.md has the format. A recording may still grow while it is shown.

export interface Header {
  title: string
  command: string
  seed: string
  version: string
  experiment: string
  nodes: number
  range: number
  full: boolean
  ways: [number, number, number][][]
  links: [number, number][]
  moving: boolean
  elections: string[]
  locks: string[]
  until_us: number
}

export const UP = 0, PAUSED = 1, CRASHED = 2, LEFT = 3
export const SUSPECT = 1, FAILED = 2
export const WAITS = 1, HOLDS = 2

/** Everything that is shown at a time, but for datagrams. */
export class State {
  readonly n: number
  hosts: Uint8Array
  /** By subject and observer. */
  opinions: Uint8Array
  /** By subject: how many that run suspect it, and how many hold it failed. */
  suspects: Int32Array
  verdicts: Int32Array
  split: Uint8Array | null = null
  impaired = new Map<number, number>()
  /** By election and node: whom it follows; -1 is nobody. */
  follows: Int32Array[]
  acts: Set<number>[]
  locks: Map<number, number>[]
  links = new Set<number>()
  ought: Int32Array

  constructor(header: Header) {
    const n = (this.n = header.nodes)
    this.hosts = new Uint8Array(n)
    this.opinions = new Uint8Array(n * n)
    this.suspects = new Int32Array(n)
    this.verdicts = new Int32Array(n)
    this.follows = header.elections.map(() => new Int32Array(n).fill(-1))
    this.acts = header.elections.map(() => new Set())
    this.locks = header.locks.map(() => new Map())
    this.ought = new Int32Array(n).fill(-1)
  }

  clear(): void {
    for (const list of [this.hosts, this.opinions, this.suspects, this.verdicts]) list.fill(0)
    for (const list of this.follows) list.fill(-1)
    this.ought.fill(-1)
    for (const all of [...this.acts, ...this.locks, this.impaired, this.links]) all.clear()
    this.split = null
  }

  opinion(subject: number, observer: number): number {
    return this.opinions[subject * this.n + observer]
  }

  private count(subject: number, opinion: number, by: number): void {
    if (opinion === SUSPECT) this.suspects[subject] += by
    else if (opinion === FAILED) this.verdicts[subject] += by
  }

  setOpinion(observer: number, subject: number, is: number): void {
    const at = subject * this.n + observer
    if (this.hosts[observer] === UP) {
      this.count(subject, this.opinions[at], -1)
      this.count(subject, is, 1)
    }
    this.opinions[at] = is
  }

  /** What a node thinks counts while it runs. */
  setHost(node: number, is: number): void {
    const by = Number(is === UP) - Number(this.hosts[node] === UP)
    if (by) for (let s = 0; s < this.n; s++) this.count(s, this.opinions[s * this.n + node], by)
    this.hosts[node] = is
  }

  restart(node: number): void {
    for (let s = 0; s < this.n; s++) this.setOpinion(node, s, 0)
    this.setHost(node, UP)
    for (const follows of this.follows) follows[node] = -1
    for (const acts of this.acts) acts.delete(node)
    for (const lock of this.locks) lock.delete(node)
  }

  running(): number {
    let up = 0
    for (const h of this.hosts) up += Number(h === UP)
    return up
  }
}

/** A datagram; `to` is -1 for a broadcast, `delay` -1 when it is lost. */
export interface Flight {
  at: number
  from: number
  to: number
  delay: number
  kind: number
}

export const KIND_INDIRECT = 2, KIND_ELECTION = 4, KIND_LOCK = 5, KIND_HELLO = 6

const HOST = 1, RESTART = 2, OPINION = 3, SPLIT = 4, IMPAIRED = 5, HEAL = 6, FOLLOWS = 7, ACTS = 8, LOCK = 9, LINK = 10, OUGHT = 11, NOTE = 12
const DATAGRAM = 16, LOST = 24, BROADCAST = 32, TAGS_END = 40

interface Chunk {
  at: number
  from: number
  to: number
}

/** Told of every change, in order; times are microseconds. */
export interface Listener {
  change?(at: number, tag: number, a: number, b: number, c: number, text: string | Uint8Array): void
  flight?(at: number, from: number, to: number, delay: number, kind: number): void
}

export const TAG = { HOST, RESTART, OPINION, SPLIT, IMPAIRED, HEAL, FOLLOWS, ACTS, LOCK, LINK, OUGHT, NOTE }

const utf8 = new TextDecoder()

/** A recording, as far as it has arrived. */
export class Tape {
  header: Header | null = null
  chunks: Chunk[] = []
  /** How far it goes. */
  end = 0
  done = false
  flags = 0
  outcome = ''
  private bytes = new Uint8Array(1 << 16)
  private length = 0
  private at = 0
  private cursor: { chunk: number; at: number; now: number; state: State } | null = null
  private readonly cache = new Map<number, Flight[]>()

  /** Takes the next bytes. Throws when they are not those of a recording. */
  feed(piece: Uint8Array): void {
    if (this.length + piece.length > this.bytes.length) {
      const more = new Uint8Array(Math.max(this.bytes.length * 2, this.length + piece.length))
      more.set(this.bytes.subarray(0, this.length))
      this.bytes = more
    }
    this.bytes.set(piece, this.length)
    this.length += piece.length
    while (this.block()) {
      // As many blocks as are whole.
    }
  }

  private block(): boolean {
    const start = this.at
    try {
      if (!this.header) {
        if (this.length < 8) return false
        const magic = utf8.decode(this.bytes.subarray(0, 7))
        if (magic !== 'CONSREC' || this.bytes[7] !== 1) throw new Error('not a recording that this page can show')
        this.at = 8
        this.header = JSON.parse(this.text()) as Header
        return true
      }
      const kind = this.byte()
      const length = this.number()
      const from = this.at
      const to = from + length
      if (to > this.length) throw new Short()
      if (kind === 1) {
        const at = this.number()
        this.chunks.push({ at, from: this.at, to })
        this.end = Math.max(this.end, at)
      } else {
        this.end = Math.max(this.end, this.number())
        this.flags = this.number()
        this.outcome = this.text()
        this.done = true
      }
      this.at = to
      return true
    } catch (error) {
      if (!(error instanceof Short)) throw error
      this.at = start
      return false
    }
  }

  private byte(): number {
    if (this.at >= this.length) throw new Short()
    return this.bytes[this.at++]
  }

  private number(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 128
    }
  }

  private slice(): Uint8Array {
    const length = this.number()
    if (this.at + length > this.length) throw new Short()
    return this.bytes.subarray(this.at, (this.at += length))
  }

  private text(): string {
    return utf8.decode(this.slice())
  }

  private keyframe(state: State): void {
    state.clear()
    const hosts = this.slice()
    for (let i = this.number(), key = 0; i > 0; i--) {
      key += this.number()
      state.opinions[key] = this.number()
    }
    state.hosts.set(hosts.subarray(0, state.n))
    for (let s = 0, at = 0; s < state.n; s++) {
      for (let o = 0; o < state.n; o++, at++) {
        if (state.opinions[at] && state.hosts[o] === UP) {
          if (state.opinions[at] === SUSPECT) state.suspects[s]++
          else if (state.opinions[at] === FAILED) state.verdicts[s]++
        }
      }
    }
    const sides = this.slice()
    if (sides.length) state.split = sides.slice()
    for (let i = this.number(); i > 0; i--) state.impaired.set(this.number(), this.number())
    for (let i = this.number(); i > 0; i--) {
      const [e, n, l] = [this.number(), this.number(), this.number()]
      state.follows[e][n] = l
    }
    for (let i = this.number(); i > 0; i--) {
      const e = this.number()
      state.acts[e].add(this.number())
    }
    for (let i = this.number(); i > 0; i--) {
      const [l, n, is] = [this.number(), this.number(), this.number()]
      state.locks[l].set(n, is)
    }
    for (let i = this.number(); i > 0; i--) {
      const [a, b] = [this.number(), this.number()]
      state.links.add(a * state.n + b)
    }
    for (let i = this.number(); i > 0; i--) {
      const n = this.number()
      state.ought[n] = this.number()
    }
  }

  private skipKeyframe(): void {
    this.slice()
    for (let i = this.number(); i > 0; i--) {
      this.number()
      this.number()
    }
    this.slice()
    for (const width of [2, 3, 2, 3, 2, 2]) {
      for (let i = this.number() * width; i > 0; i--) this.number()
    }
  }

  /** Goes through a chunk: with a state from its keyframe on, up to and with `until`. */
  walk(n: number, state: State | null, listener: Listener | null, until = Infinity): void {
    const chunk = this.chunks[n]
    const kept = this.at
    this.at = chunk.from
    if (state) this.keyframe(state)
    else this.skipKeyframe()
    this.records(chunk.to, chunk.at, state, listener, until)
    this.at = kept
  }

  /** From here to `to`; returns the time of the last record that was taken. */
  private records(to: number, now: number, state: State | null, listener: Listener | null, until: number): number {
    while (this.at < to) {
      const before = this.at
      const at = now + this.number()
      if (at > until) {
        this.at = before
        break
      }
      now = at
      this.record(at, state, listener)
    }
    return now
  }

  private record(at: number, state: State | null, listener: Listener | null): void {
    const tag = this.byte()
    if (tag >= DATAGRAM && tag < TAGS_END) {
      const from = this.number()
      const to = tag < BROADCAST ? this.number() : -1
      const delay = tag < LOST ? this.number() : -1
      listener?.flight?.(at, from, to, delay, tag & 7)
      return
    }
    let [a, b, c] = [0, 0, 0]
    let text: string | Uint8Array = ''
    if (tag === SPLIT) text = this.slice()
    else if (tag === NOTE) text = this.text()
    else if (tag !== HEAL) {
      a = this.number()
      if (tag !== RESTART) b = this.number()
      if (tag === OPINION || tag === FOLLOWS || tag === ACTS || tag === LOCK || tag === LINK) c = this.number()
    }
    if (state) apply(state, tag, a, b, c, text)
    listener?.change?.(at, tag, a, b, c, text)
  }

  private chunkAt(t: number): number {
    let [low, high] = [0, this.chunks.length - 1]
    while (low < high) {
      const mid = (low + high + 1) >> 1
      if (this.chunks[mid].at <= t) low = mid
      else high = mid - 1
    }
    return low
  }

  /** The state at a time. It is the same object every time. */
  stateAt(t: number): State | null {
    if (!this.header || !this.chunks.length) return null
    const n = this.chunkAt(t)
    const kept = this.at
    const cursor = (this.cursor ??= { chunk: -1, at: 0, now: 0, state: new State(this.header) })
    if (cursor.chunk !== n || t < cursor.now) {
      this.at = this.chunks[n].from
      this.keyframe(cursor.state)
      Object.assign(cursor, { chunk: n, now: this.chunks[n].at })
    } else this.at = cursor.at
    cursor.now = this.records(this.chunks[n].to, cursor.now, cursor.state, null, t)
    cursor.at = this.at
    this.at = kept
    return cursor.state
  }

  /** Datagrams sent between two times, at most `max` of the latest. */
  flights(from: number, to: number, max = 1500): Flight[] {
    if (!this.chunks.length) return []
    const found: Flight[] = []
    for (let n = this.chunkAt(to); n >= 0 && found.length < max; n--) {
      const all = this.flightsOf(n)
      let i = all.length - 1
      while (i >= 0 && all[i].at > to) i--
      for (; i >= 0 && all[i].at >= from && found.length < max; i--) found.push(all[i])
      if (this.chunks[n].at < from) break
    }
    return found
  }

  private flightsOf(n: number): Flight[] {
    let all = this.cache.get(n)
    if (!all) {
      const list: Flight[] = (all = [])
      this.walk(n, null, { flight: (at, from, to, delay, kind) => list.push({ at, from, to, delay, kind }) })
      if (this.cache.size > 8) this.cache.delete(this.cache.keys().next().value!)
      this.cache.set(n, all)
    }
    return all
  }
}

class Short extends Error {}

export function apply(state: State, tag: number, a: number, b: number, c: number, text: string | Uint8Array): void {
  switch (tag) {
    case HOST: return state.setHost(a, b)
    case RESTART: return state.restart(a)
    case OPINION: return state.setOpinion(a, b, c)
    case SPLIT: state.split = (text as Uint8Array).slice(); return
    case IMPAIRED: if (b) state.impaired.set(a, b); else state.impaired.delete(a); return
    case HEAL: state.split = null; state.impaired.clear(); return
    case FOLLOWS: state.follows[a][b] = c - 1; return
    case ACTS: if (c) state.acts[a].add(b); else state.acts[a].delete(b); return
    case LOCK: if (c) state.locks[a].set(b, c); else state.locks[a].delete(b); return
    case LINK: if (c) state.links.add(a * state.n + b); else state.links.delete(a * state.n + b); return
    case OUGHT: state.ought[a] = b
  }
}

/** Where nodes are at a time in seconds, as x and y in turn. */
export function positions(header: Header, seconds: number, out: Float64Array): void {
  header.ways.forEach((way, n) => {
    let [low, high] = [0, way.length - 1]
    while (low < high) {
      const mid = (low + high + 1) >> 1
      if (way[mid][0] <= seconds) low = mid
      else high = mid - 1
    }
    const [t0, x0, y0] = way[low]
    const next = way[low + 1]
    const share = next && seconds > t0 ? Math.min(1, (seconds - t0) / (next[0] - t0)) : 0
    out[2 * n] = next ? x0 + (next[1] - x0) * share : x0
    out[2 * n + 1] = next ? y0 + (next[2] - y0) * share : y0
  })
}
