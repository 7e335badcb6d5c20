// The last minute in lanes: what happened to members, who led, whose turn it was, and what followed from what.

import { iconOf, label, nameOf, statusOf, stories, troubleAt } from '../derive'
import { calm, cut, span } from '../format'
import { now, state } from '../store'
import { useWidth } from '../ui/bits'
import { Glyph } from '../ui/icons'
import type { Election, Ev, Lock, Term, Turn } from '../types'
import { EventRow } from './timeline'

/** Windows: the shorter one while the newest story fits into it. */
const WINDOW = 60_000
const WINDOW_SHORT = 40_000

/** Lanes of leaders and of locks, each. */
const LANES_MAX = 2

const LEFT = 104
const TOP = 64

export function JustNow() {
  const [ref, width] = useWidth<HTMLDivElement>()
  const end = now()
  const events = state.events.filter(shown)
  const recent = events.filter((e) => e.at_ms > end - WINDOW)
  const last = stories(events.slice(-200))[0]
  let body
  if (recent.length === 0) {
    body = (
      <p class="t3 idle">
        Nothing happened in the last minute.
        {last && <> The last story was {calm(end - last.events[last.events.length - 1].at_ms)} ago: <span class="t2">{last.title}</span>.</>}
      </p>
    )
  } else if (width && width < 560) {
    const s = stories(recent)[0]
    body = <ol class="tight">{s.events.slice(-7).map((e, i, all) => <EventRow key={e.seq} e={e} before={all[i - 1]} first={i === 0} last={i === all.length - 1} />)}</ol>
  } else if (width) {
    const reach = last && end - last.events[0].at_ms < WINDOW_SHORT * 0.8 ? WINDOW_SHORT : WINDOW
    body = <Strip width={width} end={end} reach={reach} events={recent.filter((e) => e.at_ms > end - reach)} />
  }
  return <div ref={ref} class="strip">{body}</div>
}

function shown(e: Ev): boolean {
  if (e.event === 'lab') return isFault(e)
  return /^(up|down|suspected|leader_vacant|leader_changed|lock_granted|lock_released|lock_lost)$/.test(e.event)
}

/** Orders that lanes do not show anyway, as those for locks do. */
function isFault(e: Ev): boolean {
  return !/^(lock|unlock|campaign|withdraw)\b/.test(e.reason ?? '')
}

interface Lane {
  kind: 'leader' | 'lock'
  name: string
  bars: (Term | Turn)[]
  election: Election | null
  lock: Lock | null
}

/** A stretch of a lane in which nobody acts. */
interface Gap {
  from: number
  to: number
  /** What is written over it, and in it. */
  above: string
  inside: string
  /** The end of a leader's term is drawn over its bar, because nobody knew. */
  lane: number
}

function lanes(end: number, reach: number): Lane[] {
  const within = (bar: Term | Turn) => (bar.until_ms ?? end) > end - reach
  const latest = (e: Election) => e.terms.at(-1)?.from_ms ?? 0
  const elections = [...state.elections].sort((a, b) => latest(b) - latest(a)).slice(0, LANES_MAX)
  const locks = [...(state.locks?.locks ?? []), ...(state.locks?.idle ?? [])].filter((l) => l.turns.some(within)).slice(0, LANES_MAX)
  return [
    ...elections.map((e): Lane => ({ kind: 'leader', name: e.name, bars: e.terms, election: e, lock: null })),
    ...locks.map((l): Lane => ({ kind: 'lock', name: l.name, bars: l.turns, election: null, lock: l })),
  ]
}

function gapsOf(lane: Lane, i: number, end: number): Gap[] {
  const gaps: Gap[] = []
  lane.bars.forEach((bar, k) => {
    const next = lane.bars[k + 1]
    if (lane.kind === 'lock') {
      const broken = bar.until_ms === null ? brokenSince(bar) : null
      if (broken === null) return
      const then = lane.lock?.contenders.find((c) => !c.held)
      gaps.push({ from: Math.max(broken, bar.from_ms), to: end, above: '', inside: then ? `lease runs out, then ${nameOf(then.id, then.name)}` : 'lease runs out', lane: i })
      return
    }
    if (bar.until_ms === null) return
    const failed = bar.ended === 'failed' || bar.ended === 'silent'
    const sign = next && failed ? troubleAt(lane.election!, next) : null
    const from = Math.max(bar.from_ms, Math.min(sign ?? bar.until_ms, bar.until_ms))
    const to = next?.from_ms ?? end
    if (to - from < 50) return
    gaps.push({ from, to, above: next ? `${span(to - from, true)} without a leader` : `nobody leads for ${calm(to - from)}`, inside: '', lane: i })
  })
  return gaps
}

function Strip({ width, end, reach, events }: { width: number; end: number; reach: number; events: Ev[] }) {
  const x = (at: number) => LEFT + ((width - LEFT - 34) * (at - (end - reach))) / reach
  const all = lanes(end, reach)
  const laneY = (i: number) => TOP + 56 + i * 46
  const height = laneY(all.length - 1) + 46
  const gaps = all.flatMap((lane, i) => gapsOf(lane, i, end)).filter((g) => x(g.to) > LEFT + 4)
  const taken: Box[] = []
  const brackets = gaps.filter((g) => g.above && x(g.to) - x(g.from) > 6).reverse().flatMap((g) => {
    const [x0, x1, w] = [Math.max(LEFT, x(g.from)), x(g.to), g.above.length * 6.9 + 12]
    const cx = Math.max(LEFT + w / 2, Math.min((x0 + x1) / 2, width - w / 2))
    const box: Box = { x0: Math.min(x0, cx - w / 2), x1: Math.max(x1, cx + w / 2), row: 'top' }
    if (hits(box, taken)) return []
    taken.push(box, { x0: x0 - 4, x1: x1 + 4, row: 'above' })
    return [{ g, x0, x1, cx }]
  })
  const marks = place(events.filter((e) => /^(up|down|suspected|lab)$/.test(e.event)), x, width, taken)
  const at = new Map(marks.flatMap((m) => m.seqs.map((seq) => [seq, m] as const)))
  const ticks = Array.from({ length: reach / 10_000 + 1 }, (_, i) => i)
  return (
    <svg width={width} height={height} role="img" aria-label={`The last ${reach / 1000} seconds: ${[...marks.map((m) => m.said), ...brackets.map((b) => b.g.above)].filter(Boolean).join(', ')}`}>
      <defs>
        <marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="arrowhead" /></marker>
        <pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(25)"><rect width="3.4" height="8" class="hatching" /></pattern>
      </defs>
      {ticks.map((i) => {
        const px = x(end - i * 10_000)
        return (
          <g key={i}>
            <line x1={px} x2={px} y1={TOP - 26} y2={height - 24} class={i ? 'grid-line' : 'now-line'} />
            <text x={px} y={height - 6} text-anchor="middle" class="axis">{i ? `${i * 10} s ago` : 'now'}</text>
          </g>
        )
      })}
      <text x={0} y={TOP + 4} class="lane">Members</text>
      <line x1={LEFT} x2={x(end)} y1={TOP} y2={TOP} class="base-line" />
      {all.map((lane, i) => (
        <g key={lane.kind + lane.name}>
          <text x={0} y={laneY(i) - 3} class="lane">{lane.kind === 'leader' ? 'Leader' : 'Lock'}</text>
          <text x={0} y={laneY(i) + 12} class="axis">{cut(lane.name, 15)}</text>
          {lane.bars.map((bar) => {
            const gap = gaps.find((g) => g.lane === i && g.from >= bar.from_ms && g.from <= (bar.until_ms ?? end))
            const from = Math.max(x(bar.from_ms), LEFT)
            const to = Math.min(x(Math.min(gap?.from ?? Infinity, bar.until_ms ?? end)), x(end))
            if (to <= LEFT || from >= to) return null
            const w = Math.max(2, to - from - 1.5)
            return (
              <g key={bar.token}>
                <rect x={from} y={laneY(i) - 11} width={w} height={22} rx={5} class={`bar ${lane.kind} ${bar.until_ms === null && !gap ? 'open' : ''}`} />
                {w > 64 && <text x={from + 9} y={laneY(i) + 4.5} class={`in ${lane.kind}`}>{cut(label(bar), Math.floor((w - 16) / 7.5))}</text>}
              </g>
            )
          })}
        </g>
      ))}
      {gaps.map((g) => {
        const [x0, x1] = [Math.max(LEFT, x(g.from)), Math.min(x(g.to), x(end))]
        if (x1 - x0 < 3) return null
        const fits = g.inside && x1 - x0 > g.inside.length * 6.6 + 24
        return (
          <g key={`${g.lane} ${g.from}`}>
            <rect x={x0} y={laneY(g.lane) - 11} width={x1 - x0 - 1.5} height={22} rx={5} class="gap" />
            {fits && <text x={(x0 + x1) / 2} y={laneY(g.lane) + 4.5} text-anchor="middle" class="mark over">{g.inside}</text>}
          </g>
        )
      })}
      {brackets.map(({ g, x0, x1, cx }) => (
        <g key={`b${g.lane} ${g.from}`}>
          <path d={`M${x0 + 0.75} ${TOP - 26}v-8H${x1 - 0.75}v8`} class="bracket" />
          <text x={cx} y={TOP - 42} text-anchor="middle" class="mark">{g.above}</text>
        </g>
      ))}
      {marks.map((m) => {
        const cause = m.e.cause ? at.get(m.e.cause) : undefined
        if (!cause || m.x - cause.x < 30) return null
        return <path key={`c${m.e.seq}`} d={`M${cause.x + 13} ${TOP}H${m.x - 13}`} class="arrow" marker-end="url(#head)" />
      })}
      {events.filter((e) => e.event === 'leader_changed' && e.cause && at.has(e.cause)).map((e) => {
        const lane = all.findIndex((l) => l.kind === 'leader' && l.name === e.election)
        if (lane < 0) return null
        const [from, to, mid] = [at.get(e.cause!)!.x, x(e.at_ms), TOP + 24]
        const bend = Math.abs(to - from) > 12 ? `V${mid}H${to}` : ''
        return <path key={`l${e.seq}`} d={`M${from} ${TOP + 12}${bend}V${laneY(lane) - 14}`} class="arrow" marker-end="url(#head)" />
      })}
      {gaps.filter((g) => all[g.lane].kind === 'lock').map((g) => {
        const mark = marks.find((m) => Math.abs(m.e.at_ms - g.from) < 5)
        return mark && <path key={`k${g.from}`} d={`M${mark.x} ${TOP + 12}V${laneY(g.lane) - 14}`} class="arrow" marker-end="url(#head)" />
      })}
      {marks.map((m) => (
        <g key={m.e.seq}>
          <circle cx={m.x} cy={TOP} r={11} class="halo" />
          <Glyph id={m.icon} x={m.x} y={TOP} tone={m.tone} />
          {m.text && <text x={m.tx} y={m.ty} text-anchor={m.anchor} class="mark">{m.text}</text>}
        </g>
      ))}
    </svg>
  )
}

/** When the holder of a lock that failed was broken, or first suspected: from then on nobody works under the lock. */
function brokenSince(turn: { id: string; from_ms: number }): number | null {
  if (statusOf(turn.id) !== 'failed') return null
  const sign = state.events.find((e) => e.member?.id === turn.id && e.at_ms > turn.from_ms && (e.event === 'suspected' || /^(kill|pause|isolate)/.test((e.event === 'lab' && e.reason) || '')))
  return sign?.at_ms ?? null
}

interface Box {
  x0: number
  x1: number
  row: 'top' | 'above' | 'line' | 'below'
}

const hits = (box: Box, taken: Box[]) => taken.some((t) => t.row === box.row && box.x0 < t.x1 && box.x1 > t.x0)

interface Mark {
  e: Ev
  /** The numbers of the events that are folded into it. */
  seqs: number[]
  x: number
  icon: string
  tone: string
  /** What is written beside it, if there is room; and what is read aloud. */
  text: string
  said: string
  tx: number
  ty: number
  anchor: 'start' | 'middle' | 'end'
}

function wordOf(e: Ev): string {
  if (e.event === 'up') return e.reason === 'joined' ? 'joined' : e.reason === 'refuted' ? 'answered' : 'back'
  if (e.event === 'suspected') return 'suspected'
  return e.event === 'down' ? (e.reason ?? 'down') : (e.reason ?? '').split(' ')[0]
}

/** Marks of events, those at one place folded into one, each with a label where there is room. */
function place(events: Ev[], x: (at: number) => number, width: number, taken: Box[]): Mark[] {
  const marks: Mark[] = []
  for (const e of events) {
    const [icon, tone] = iconOf(e)
    const near = marks.findLast((m) => m.icon === icon)
    const word = wordOf(e)
    const who = e.member ? cut(label(e.member), 14) : ''
    if (near && x(e.at_ms) - near.x < 20) {
      near.seqs.push(e.seq)
      if (e.event === 'lab') continue
      // The same again, as when two accuse one, is no second member.
      if (near.e.member?.id !== e.member?.id) near.text = near.said = `${near.seqs.length} members ${word}`
      continue
    }
    const text = e.event === 'lab' ? word : `${who} ${word}`
    marks.push({ e, seqs: [e.seq], x: x(e.at_ms), icon, tone, text, said: text, tx: 0, ty: 0, anchor: 'middle' })
  }
  // What follows at once stands beside it, not upon it.
  for (let i = 1; i < marks.length; i++) marks[i].x = Math.max(marks[i].x, marks[i - 1].x + 23)
  for (let i = marks.length - 1, end = width - 34; i >= 0; end = marks[i--].x - 23) marks[i].x = Math.min(marks[i].x, end)
  // A suspicion between an order and a verdict about the same member says nothing that these do not.
  for (const m of marks) {
    if (m.e.event === 'suspected' && marks.some((o) => o.e.event === 'down' && o.e.cause === m.e.seq)) m.text = ''
  }
  for (const m of marks) taken.push({ x0: m.x - 13, x1: m.x + 13, row: 'line' })
  const urgency = (m: Mark) => ['down', 'lab', 'up', 'suspected'].indexOf(m.e.event)
  for (const m of [...marks].sort((a, b) => urgency(a) - urgency(b))) {
    if (!m.text) continue
    const w = m.text.length * 6.9 + 4
    const middle = Math.max(LEFT + w / 2, Math.min(m.x, width - w / 2))
    const right = { x0: m.x + 14, x1: m.x + 16 + w, row: 'line', tx: m.x + 16, ty: TOP + 4.5, anchor: 'start' } as const
    const left = { x0: m.x - 16 - w, x1: m.x - 14, row: 'line', tx: m.x - 16, ty: TOP + 4.5, anchor: 'end' } as const
    const above = { x0: middle - w / 2, x1: middle + w / 2, row: 'above', tx: middle, ty: TOP - 18, anchor: 'middle' } as const
    const below = { ...above, row: 'below', ty: TOP + 27 } as const
    const order = m.e.event === 'lab' ? [left, above, below, right] : m.e.event === 'suspected' ? [above, right, below, left] : [right, above, below, left]
    const spot = order.find((s) => s.x0 >= LEFT - 4 && s.x1 <= width && !hits(s, taken))
    if (!spot) {
      m.text = ''
      continue
    }
    taken.push(spot)
    Object.assign(m, { tx: spot.tx, ty: spot.ty, anchor: spot.anchor })
  }
  return marks
}
