// What happened, in sentences: one pass over a recording, chunk by chunk as it arrives.

import { span } from '../format'
import { apply, CRASHED, FAILED, HOLDS, LEFT, PAUSED, State, SUSPECT, TAG, Tape, UP } from './tape'

export interface Item {
  /** Microseconds. */
  at: number
  icon: string
  tone: string
  text: string
  node: number | null
  /** Shown on the seek bar. */
  mark: boolean
}

/** More are counted and left out. */
const ITEMS_MAX = 20_000
const BUCKET_US = 500_000

export const nodeName = (n: number) => `node ${n}`

interface Case {
  crashedAt: number
  firstAt: number
  all: boolean
}

export class Story {
  readonly items: Item[] = []
  leftOut = 0
  /** By half a second: datagrams, and pairs of a node that suspects or condemns another; where nodes move, those that
   * follow another leader than the best. */
  readonly traffic: number[] = []
  readonly doubts: number[] = []
  private state: State | null = null
  private next = 0
  private pairs = 0
  private readonly cases = new Map<number, Case>()
  private readonly lastHolder = new Map<number, number>()

  constructor(private readonly tape: Tape) {}

  /** Reads on; at most for so many milliseconds. True when there is more to read. */
  read(budget = 30): boolean {
    const until = performance.now() + budget
    while (this.next < this.tape.chunks.length) {
      this.chunk(this.next++)
      if (performance.now() > until) break
    }
    return this.next < this.tape.chunks.length
  }

  private chunk(n: number): void {
    const first = this.state === null
    const state = (this.state ??= new State(this.tape.header!))
    // Changes are looked at before they are applied, so that what they change is known.
    if (first) this.tape.walk(n, state, null, -1)
    const tape = this.tape
    tape.walk(n, null, {
      flight: (at) => {
        tape.end = Math.max(tape.end, at)
        this.bump(this.traffic, at, 1)
      },
      change: (at, tag, a, b, c, text) => {
        tape.end = Math.max(tape.end, at)
        this.change(state, at, tag, a, b, c, text)
      },
    })
  }

  private bump(list: number[], at: number, by: number): void {
    const bucket = Math.floor(at / BUCKET_US)
    while (list.length <= bucket) list.push(0)
    list[bucket] += by
  }

  /** The most pairs of each half second; without a change they are those of before. */
  private note(at: number, pairs: number): void {
    const bucket = Math.floor(at / BUCKET_US)
    while (this.doubts.length <= bucket) this.doubts.push(this.pairs)
    this.doubts[bucket] = Math.max(this.doubts[bucket], pairs)
    this.pairs = pairs
  }

  private add(at: number, icon: string, tone: string, text: string, node: number | null = null, mark = false): void {
    if (this.items.length < ITEMS_MAX) this.items.push({ at, icon, tone, text, node, mark })
    else this.leftOut++
  }

  private change(state: State, at: number, tag: number, a: number, b: number, c: number, text: string | Uint8Array): void {
    const header = this.tape.header!
    switch (tag) {
      case TAG.HOST: {
        const before = state.hosts[a]
        state.setHost(a, b)
        if (b === CRASHED) {
          this.add(at, 'crash', 'crash', `${nodeName(a)} crashes`, a, true)
          this.cases.set(a, { crashedAt: at, firstAt: -1, all: false })
          // One that must be told is fewer.
          for (const s of this.cases.keys()) this.known(state, at, s)
        } else if (b === PAUSED) this.add(at, 'paused', 'deed', `${nodeName(a)} stands still`, a, true)
        else if (b === LEFT) this.add(at, 'left', 'left', `${nodeName(a)} leaves`, a)
        else if (before === PAUSED && b === UP) this.add(at, 'join', 'alive', `${nodeName(a)} goes on`, a)
        return
      }
      case TAG.RESTART:
        state.restart(a)
        this.cases.delete(a)
        return this.add(at, 'join', 'alive', `${nodeName(a)} starts again`, a)
      case TAG.OPINION:
        return this.opinion(state, at, a, b, c)
      case TAG.SPLIT: {
        state.split = (text as Uint8Array).slice()
        const sizes = new Map<number, number>()
        for (const side of state.split) sizes.set(side, (sizes.get(side) ?? 0) + 1)
        return this.add(at, 'split', 'failed', `the group is cut: ${[...sizes.values()].sort((x, y) => y - x).join(' | ')}`, null, true)
      }
      case TAG.HEAL:
        state.split = null
        state.impaired.clear()
        return this.add(at, 'refute', 'alive', 'all cuts heal', null, true)
      case TAG.IMPAIRED:
        if (b) this.add(at, 'flask', 'suspect', `${nodeName(a)} ${b === 1 ? 'hears nothing' : b === 2 ? 'is not heard' : 'loses datagrams'}`, a)
        return
      case TAG.ACTS:
        if (c) state.acts[a].add(b)
        else state.acts[a].delete(b)
        {
          const what = header.moving ? '' : ` election ${header.elections[a]}`
          if (c) this.add(at, 'crown', 'leader', `${nodeName(b)} ${header.moving ? 'takes the lead' : 'leads'}${what}`, b, !header.moving)
          else if (state.hosts[b] === UP) this.add(at, 'vacant', 'leader', `${nodeName(b)} no longer leads${what}`, b)
        }
        return
      case TAG.FOLLOWS:
      case TAG.OUGHT:
        if (!header.moving) return
        this.note(at, this.pairs + this.wrong(state, tag === TAG.OUGHT ? a : b, () => apply(state, tag, a, b, c, text)))
        return
      case TAG.LOCK: {
        if (c === HOLDS) {
          const from = this.lastHolder.get(a)
          this.lastHolder.set(a, b)
          const handed = from !== undefined && from !== b ? `, after ${nodeName(from)}` : ''
          this.add(at, 'key', 'lock', `${nodeName(b)} holds lock ${header.locks[a]}${handed}`, b)
        }
        return
      }
      case TAG.NOTE: {
        const broken = (text as string).includes(' violated at ')
        return this.add(at, broken ? 'failed' : 'flask', broken ? 'failed' : 'suspect', text as string, null, broken)
      }
    }
  }

  /** By how much a change changes the number of nodes that follow another leader than the best. */
  private wrong(state: State, node: number, change: () => void): number {
    const is = () => Number(state.ought[node] >= 0 && state.follows[0][node] >= 0 && state.follows[0][node] !== state.ought[node])
    const before = is()
    change()
    return is() - before
  }

  private opinion(state: State, at: number, observer: number, subject: number, is: number): void {
    const before = state.opinion(subject, observer)
    const held = (o: number) => Number(o === SUSPECT || o === FAILED)
    const [suspects, verdicts] = [state.suspects[subject], state.verdicts[subject]]
    state.setOpinion(observer, subject, is)
    this.note(at, this.pairs + held(is) - held(before))
    const wrongly = state.hosts[subject] === UP ? ', which runs,' : ''
    const known = this.cases.get(subject)
    if (is === SUSPECT && suspects + verdicts === 0 && state.suspects[subject] === 1) {
      const after = known ? `, ${span((at - known.crashedAt) / 1000, true)} after its crash` : ''
      this.add(at, 'suspect', 'suspect', `${nodeName(subject)}${wrongly} is suspected first by ${observer}${after}`, subject)
    } else if (is === FAILED && verdicts === 0 && state.verdicts[subject] === 1) {
      const after = known ? `, ${span((at - known.crashedAt) / 1000, true)} after its crash` : ''
      this.add(at, 'failed', 'failed', `${nodeName(subject)}${wrongly} is declared failed first by ${observer}${after}`, subject, true)
      if (known) known.firstAt = at
    } else if (is === 0 && before === SUSPECT && state.suspects[subject] + state.verdicts[subject] === 0 && suspects === 1) {
      this.add(at, 'refute', 'alive', `${nodeName(subject)} is cleared everywhere`, subject)
    }
    this.known(state, at, subject)
  }

  /** Whether everybody that runs holds a crashed node failed by now. */
  private known(state: State, at: number, subject: number): void {
    const known = this.cases.get(subject)
    if (!known || known.all || known.firstAt < 0) return
    const others = state.running()
    if (state.verdicts[subject] < others) return
    known.all = true
    this.add(at, 'members', 'deed', `all ${others} know of ${nodeName(subject)}, ${span((at - known.firstAt) / 1000, true)} after the first`, subject, true)
  }
}

/** The number of items up to a time. */
export function upTo(items: Item[], t: number): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const mid = (low + high) >> 1
    if (items[mid].at <= t) low = mid + 1
    else high = mid
  }
  return low
}
