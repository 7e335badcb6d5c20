// One clock over one or two recordings: loads them, plays, and tells who listens.

import { useEffect, useState } from 'preact/hooks'
import { Story, upTo, type Item } from './story'
import { State, Tape } from './tape'

export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 100]

export interface Reel {
  tape: Tape
  story: Story
}

/** How often texts follow the clock while it runs, in milliseconds. */
const TEXT_MS = 200
/** Before the first thing that happens. */
const LEAD_US = 3_000_000

export class Show {
  reels: Reel[] = []
  private names: string[] = []
  /** Microseconds. */
  now = 0
  playing = false
  speed = 1
  selected: number | null = null
  error: string | null = null
  /** From the request to the first picture, and of the last seek: for those who measure. */
  openedMs = 0
  soughtMs = 0
  private touched = false
  private frame = 0
  private last = 0
  private told = 0
  private readonly listeners = new Set<() => void>()
  private readonly painters = new Set<(now: number) => boolean>()

  async load(): Promise<void> {
    const begun = performance.now()
    try {
      const answer = await fetch('./recordings.json')
      if (!answer.ok) throw new Error(`the program answers ${answer.status}`)
      this.names = (await answer.json()) as string[]
      this.reels = this.names.map(() => {
        const tape = new Tape()
        return { tape, story: new Story(tape) }
      })
      this.tell()
      await Promise.all(this.reels.map((reel, n) => this.fetch(reel, n)))
      this.openedMs = performance.now() - begun
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error)
    }
    this.tell()
  }

  private async fetch(reel: Reel, n: number): Promise<void> {
    const answer = await fetch(`./recordings/${n}`)
    const reader = answer.body!.getReader()
    let told = performance.now()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      reel.tape.feed(value)
      while (reel.story.read()) await new Promise((resolve) => setTimeout(resolve))
      this.lead(reel)
      if (performance.now() - told > 100) {
        told = performance.now()
        this.tell()
      }
    }
    if (!reel.tape.done) throw new Error(reel.tape.header ? 'the recording breaks off' : 'nothing was recorded')
    this.tell()
  }

  /** Long quiet before the first thing that happens is skipped. */
  private lead(reel: Reel): void {
    const first = reel.story.items.find((item) => item.mark)
    if (this.touched || this.now > 0 || !first || reel.tape.header!.moving || first.at < 3 * LEAD_US) return
    this.now = first.at - LEAD_US
    this.tell()
  }

  /** As the recordings are called; two of one title by their files. */
  get titles(): string[] {
    const own = this.reels.map((r) => r.tape.header?.title ?? '')
    return own.map((title, n) => (title && own.indexOf(title) === own.lastIndexOf(title) ? title : this.names[n]))
  }

  /** The titles without what is in brackets, where they still differ. */
  get short(): string[] {
    const bare = this.titles.map((title) => title.replace(/ \(.*\)$/, ''))
    return new Set(bare).size === bare.length ? bare : this.titles
  }

  /** Whether nodes suspect one another here, or may. */
  get doubtful(): boolean {
    return this.reels.some((r) => /^(membership|chaos)$/.test(r.tape.header?.experiment ?? '') || r.story.doubts.some((n) => n > 0))
  }

  get end(): number {
    return Math.max(0, ...this.reels.map((r) => r.tape.end))
  }

  /** As far as it is meant to go, which may be known before it is there. */
  get until(): number {
    return Math.max(this.end, ...this.reels.map((r) => (r.tape.done ? 0 : (r.tape.header?.until_us ?? 0))))
  }

  get ready(): boolean {
    return this.reels.length > 0 && this.reels.every((r) => r.tape.header && r.tape.chunks.length > 0)
  }

  states(): (State | null)[] {
    return this.reels.map((r) => r.tape.stateAt(this.now))
  }

  seek(to: number): void {
    this.touched = true
    const begun = performance.now()
    this.now = Math.max(0, Math.min(to, this.end))
    for (const paint of this.painters) paint(begun)
    this.tell()
    this.soughtMs = performance.now() - begun
  }

  /** To the next thing that happened in any recording, or the one before. */
  step(forward: boolean): void {
    this.pause()
    const at = (items: Item[]) => (forward ? items[upTo(items, this.now)]?.at : items[upTo(items, this.now - 1) - 1]?.at)
    const all = this.reels.map((r) => at(r.story.items)).filter((x) => x !== undefined)
    if (all.length) this.seek(forward ? Math.min(...all) : Math.max(...all))
    else this.seek(forward ? this.end : 0)
  }

  toggle(): void {
    if (this.playing) return this.pause()
    this.touched = true
    if (this.now >= this.end && this.reels.every((r) => r.tape.done)) this.now = 0
    this.playing = true
    this.last = 0
    this.wake()
    this.tell()
  }

  pause(): void {
    this.playing = false
    this.tell()
  }

  setSpeed(speed: number): void {
    this.speed = speed
    this.tell()
  }

  faster(by: number): void {
    const at = SPEEDS.indexOf(this.speed)
    this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + by))])
  }

  select(node: number | null): void {
    this.selected = node
    this.tell()
  }

  /** Paints on every frame that needs it; a painter says whether it is not at rest. */
  onPaint(paint: (now: number) => boolean): () => void {
    this.painters.add(paint)
    this.wake()
    return () => this.painters.delete(paint)
  }

  wake = (): void => {
    if (!this.frame) this.frame = requestAnimationFrame(this.tick)
  }

  private tick = (now: number): void => {
    this.frame = 0
    if (this.playing) {
      if (this.last) this.now = Math.min(this.end, this.now + Math.min(100, now - this.last) * 1000 * this.speed)
      this.last = now
      if (this.now >= this.end && this.reels.every((r) => r.tape.done)) this.pause()
    }
    let moving = false
    for (const paint of this.painters) moving = paint(now) || moving
    if (this.playing || moving) this.wake()
    if (this.playing && now - this.told > TEXT_MS) {
      this.told = now
      this.tell()
    }
  }

  tell(): void {
    this.wake()
    for (const listener of this.listeners) listener()
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

/** Draws a component again whenever the show tells something. */
export function useShow(show: Show): void {
  const [, set] = useState(0)
  useEffect(() => show.listen(() => set((n) => n + 1)) as () => void, [show])
}
