// A sentence, then figures, then pictures.

import { useEffect, useState } from 'preact/hooks'
import { agreement, blocked, byTrouble, counts, health, iconOf, label, leaderSince, leaseLeft, stories, troubleAt } from '../derive'
import { bytes, calm, cut, plural, span } from '../format'
import { now, state, useStore } from '../store'
import { Card, Lease, StateOf, useWidth, Who } from '../ui/bits'
import { Glyph, Icon } from '../ui/icons'
import type { Election, Ev, Term, Turn } from '../types'
import { EventRow } from './timeline'

export function Overview() {
  useStore(500)
  if (state.connection === 'loading' || !state.self) return <Loading />
  const h = health()
  const n = counts()
  return (
    <div class="view">
      <div class="health">
        <div class={`badge ${h.level}`}><Icon id={h.icon} /></div>
        <div>
          <h1>{h.head}</h1>
          <Announce text={h.head} />
          {h.detail.length > 0 && <p class="d">{h.detail.join(' ')}</p>}
          {h.advice && <p class="a"><Icon id="refute" tone="alive" /><span>{h.advice}</span></p>}
        </div>
      </div>
      {n.all === 1 && <Alone />}
      <Figures />
      <div class="grid">
        <Card title="Just now" class="c12" right={<a href="#/timeline">Whole timeline →</a>}><JustNow /></Card>
        <Card title="Joins and failures" class="c7" right={<Legend />}><ChurnBars /></Card>
        <Card title="Who leads, whose turn" class="c5"><Holders /></Card>
      </div>
    </div>
  )
}

/** Says a change of the sentence aloud, at most every three seconds, and not that seconds pass. */
function Announce({ text }: { text: string }) {
  const [said, say] = useState(text)
  const bare = text.replace(/[\d.]+ (ms|s|min)/g, '…')
  useEffect(() => {
    const timer = setTimeout(() => say(text), 3000)
    return () => clearTimeout(timer)
  }, [bare])
  return <span class="sr" role="status">{said}</span>
}

function Loading() {
  return (
    <div class="view" aria-busy="true">
      <div class="ghost g1" /><div class="ghost g2" /><div class="ghost g3" />
      <span class="sr">Loading</span>
    </div>
  )
}

function Alone() {
  const address = state.self?.address ?? '10.0.0.5:7717'
  return (
    <Card title="Start a second node" class="narrowcard">
      <pre class="mono code">consort agent --name robot-1 --bind 0.0.0.0:0 --http 127.0.0.1:0 --join {address}</pre>
      <p class="sm t2">It appears here by itself. Locks need others to stand behind them, and elections others to lead.</p>
    </Card>
  )
}

function Figures() {
  const n = counts()
  const list = byTrouble().filter((m) => m.status !== 'left')
  const led = state.elections.filter((e) => e.leader)
  const vacant = state.elections.find((e) => !e.leader)
  const changedLast = led.map((e) => ({ e, at: leaderSince(e) })).filter((x) => x.at && !x.at.partly).sort((a, b) => a.at!.ms - b.at!.ms)[0]
  const locks = state.locks?.locks ?? []
  const held = locks.filter((l) => l.held).length
  const waiting = locks.reduce((sum, l) => sum + l.waiting, 0)
  const stuck = blocked().length
  const lists = agreement()
  const churn = state.elections.find((e) => e.churn)?.churn
  const rate = bytesPerSecond()
  const wrong = state.events.filter((e) => e.event === 'up' && e.reason === 'refuted').length
  return (
    <dl class="card kf">
      <div>
        <dt>Members alive</dt>
        <dd class="v">{n.alive} <small>of {n.all}</small></dd>
        <dd class="s">
          {list.length <= 40
            ? <span class="dots">{list.map((m) => <Icon key={m.id} id={m.status} tone={m.status} title={`${label(m)} ${m.status}`} />)}</span>
            : <Stacked />}
        </dd>
      </div>
      <div>
        <dt>Elections with a leader</dt>
        <dd class="v">{led.length} <small>of {state.elections.length}</small></dd>
        <dd class="s">{vacant ? <><Icon id="vacant" tone="failed" /> nobody leads {cut(vacant.name, 16)}</> : changedLast ? `${cut(changedLast.e.name, 16)} changed ${calm(changedLast.at!.ms)} ago` : state.elections.length ? 'no change so far' : 'none is held'}</dd>
      </div>
      <div>
        <dt>Locks held</dt>
        <dd class="v">{held} {waiting > 0 && <small>· {waiting} wait</small>}</dd>
        <dd class="s">{stuck ? <><Icon id="failed" tone="failed" /> {plural(stuck, 'holder')} failed</> : state.locks && !state.locks.readiness.mature ? `ready in ${calm(state.locks.readiness.matures_in_ms)}` : held ? 'all renewed' : 'nobody asks for one'}</dd>
      </div>
      <div>
        {lists ? (
          <>
            <dt>Lists that agree</dt>
            <dd class="v">{lists.agree} <small>of {lists.of}</small></dd>
          </>
        ) : (
          <>
            <dt>Lists that lack somebody</dt>
            <dd class="v">{churn ? `${(churn.missing_rate * 100).toFixed(1)} %` : '–'}</dd>
          </>
        )}
        <dd class="s">{churn ? `next election reads ${plural(churn.quorum, 'list')}` : 'no election, no estimate'}</dd>
      </div>
      <div>
        <dt>Cost of this node</dt>
        <dd class="v">{rate === null ? '–' : bytes(rate)}{rate !== null && <small>/s sent</small>}</dd>
        <dd class="s">{wrong ? `${plural(wrong, 'wrong suspicion')} since ${calm(since())}` : 'no wrong suspicion'}</dd>
      </div>
    </dl>
  )
}

function since(): number {
  const first = state.events[0]
  return first ? now() - first.at_ms : 0
}

function Stacked() {
  const n = counts()
  return (
    <span class="stack">
      {(['failed', 'suspect', 'alive'] as const).filter((k) => n[k]).map((k) => (
        <span key={k}><Icon id={k} tone={k} title={k} /> {n[k]}</span>
      ))}
    </span>
  )
}

function bytesPerSecond(): number | null {
  const s = state.samples.slice(-13)
  const [first, last] = [s[0], s.at(-1)]
  if (!last || !first || last.at_ms <= first.at_ms) return null
  return ((last.bytes_out - first.bytes_out) / (last.at_ms - first.at_ms)) * 1000
}

function Legend() {
  return (
    <>
      <span><Icon id="join" tone="alive" /> joined</span>
      <span><Icon id="failed" tone="failed" /> failed</span>
      <span><Icon id="suspect" tone="suspect" /> suspected</span>
    </>
  )
}

// ---------- the last minute, in lanes ----------

const WINDOW = 60_000

function JustNow() {
  const [ref, width] = useWidth<HTMLDivElement>()
  const end = now()
  const recent = state.events.filter((e) => e.at_ms > end - WINDOW && shown(e))
  const last = stories(state.events.filter(shown).slice(-200))[0]
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
  } else if (width) body = <Strip width={width} end={end} events={recent} />
  return <div ref={ref} class="strip">{body}</div>
}

function shown(e: Ev): boolean {
  return /^(up|down|suspected|leader_vacant|leader_changed|lab|lock_granted|lock_released|lock_lost)$/.test(e.event)
}

function Strip({ width, end, events }: { width: number; end: number; events: Ev[] }) {
  const left = 104
  const x = (at: number) => left + ((width - left - 34) * (at - (end - WINDOW))) / WINDOW
  const lanes = [
    ...state.elections.slice(0, 2).map((e) => ({ kind: 'leader', title: 'Leader', name: e.name, bars: e.terms as (Term | Turn)[], election: e as Election | null })),
    ...[...(state.locks?.locks ?? []), ...(state.locks?.idle ?? [])]
      .filter((l) => l.turns.some((t) => (t.until_ms ?? end) > end - WINDOW))
      .slice(0, 2)
      .map((l) => ({ kind: 'lock', title: 'Lock', name: l.name, bars: l.turns as (Term | Turn)[], election: null as Election | null })),
  ]
  const top = 46
  const height = top + 50 + lanes.length * 42 + 26
  const marks = place(events.filter((e) => /^(up|down|suspected|lab)$/.test(e.event)), x, width)
  const laneY = (i: number) => top + 64 + i * 42
  const at = new Map(marks.map((m) => [m.e.seq, m]))
  return (
    <svg width={width} height={height} role="img" aria-label={`Events of the last minute: ${marks.map((m) => m.text).filter(Boolean).join(', ')}`}>
      {[0, 1, 2, 3, 4, 5, 6].map((i) => {
        const px = x(end - i * 10_000)
        return (
          <g key={i}>
            <line x1={px} x2={px} y1={20} y2={height - 24} class={i ? 'grid-line' : 'now-line'} />
            <text x={px} y={height - 6} text-anchor="middle" class="axis">{i ? `${i * 10} s ago` : 'now'}</text>
          </g>
        )
      })}
      <text x={0} y={top + 4} class="lane">Members</text>
      <line x1={left} x2={x(end)} y1={top} y2={top} class="base-line" />
      {lanes.map((lane, i) => (
        <g key={lane.kind + lane.name}>
          <text x={0} y={laneY(i) - 3} class="lane">{lane.title}</text>
          <text x={0} y={laneY(i) + 12} class="axis">{cut(lane.name, 15)}</text>
          {lane.bars.map((bar, k) => {
            const from = Math.max(x(bar.from_ms), left)
            const to = Math.min(x(bar.until_ms ?? end), x(end))
            if (to <= left || from >= to) return null
            const next = lane.bars[k + 1]
            const gapTo = bar.until_ms === null ? to : Math.min(x(next?.from_ms ?? end), x(end))
            const w = Math.max(2, to - from - 1.5)
            const sign = lane.election && next ? troubleAt(lane.election, next) : null
            const dead = lane.kind === 'lock' && bar.until_ms === null ? brokenSince(bar) : null
            const bad = dead !== null ? Math.max(from, x(dead)) : sign === null || (bar.ended !== 'failed' && bar.ended !== 'silent') ? gapTo : Math.max(left, Math.min(x(sign), to))
            return (
              <g key={bar.token}>
                <rect x={from} y={laneY(i) - 11} width={w} height={22} rx={5} class={`bar ${lane.kind} ${bar.until_ms === null ? 'open' : ''}`} />
                {w > 64 && <text x={from + 9} y={laneY(i) + 4.5} class={`in ${lane.kind}`}>{cut(label(bar), Math.floor((w - 16) / 7.5))}</text>}
                {lane.kind === 'leader' && gapTo - to > 2 && <rect x={to} y={laneY(i) - 11} width={gapTo - to - 1.5} height={22} rx={4} class="gap" />}
                {to - bad > 2 && <rect x={bad} y={laneY(i) - 11} width={to - bad - 1.5} height={22} rx={4} class="gap" />}
              </g>
            )
          })}
        </g>
      ))}
      {marks.map((m) => {
        const cause = m.e.cause ? at.get(m.e.cause) : undefined
        if (!cause || m.x - cause.x < 26) return null
        return <path key={`c${m.e.seq}`} d={`M${cause.x + 12} ${top}H${m.x - 13}`} class="arrow" marker-end="url(#head)" />
      })}
      {events.filter((e) => /leader_vacant|leader_changed/.test(e.event) && e.cause && at.has(e.cause)).map((e) => {
        const lane = lanes.findIndex((l) => l.kind === 'leader' && l.name === e.election)
        if (lane < 0) return null
        const from = at.get(e.cause!)!
        return <path key={`l${e.seq}`} d={`M${from.x} ${top + 12}V${laneY(lane) - 15}`} class="arrow" marker-end="url(#head)" />
      })}
      {marks.map((m) => (
        <g key={m.e.seq}>
          <circle cx={m.x} cy={top} r={11} class="halo" />
          <Glyph id={m.icon} x={m.x} y={top} tone={m.tone} />
          {m.text && <text x={m.tx} y={m.ty} text-anchor={m.anchor} class="mark">{m.text}</text>}
        </g>
      ))}
      <defs>
        <marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="arrowhead" /></marker>
      </defs>
    </svg>
  )
}

/** When the holder of a lock that failed was broken, or first suspected: from then on nobody works under the lock. */
function brokenSince(turn: { id: string; from_ms: number }): number | null {
  if (!isDead(turn.id)) return null
  const sign = state.events.find((e) => e.member?.id === turn.id && e.at_ms > turn.from_ms && (e.event === 'suspected' || /^(kill|pause|isolate)/.test((e.event === 'lab' && e.reason) || '')))
  return sign?.at_ms ?? null
}

interface Mark {
  e: Ev
  x: number
  icon: string
  tone: string
  text: string
  tx: number
  ty: number
  anchor: 'start' | 'middle' | 'end'
}

/** Marks of events, those at one place folded into one, each with a label where there is room. */
function place(events: Ev[], x: (at: number) => number, width: number): Mark[] {
  const marks: Mark[] = []
  for (const e of events) {
    const [icon, tone] = iconOf(e)
    const near = marks.findLast((m) => m.icon === icon)
    const word = e.event === 'up' ? (e.reason === 'joined' ? 'joined' : e.reason === 'refuted' ? 'answered' : 'back') : e.event === 'suspected' ? 'suspected' : e.event === 'down' ? (e.reason ?? 'down') : (e.reason ?? '').split(' ')[0]
    const who = e.member ? cut(label(e.member), 14) : ''
    if (near && x(e.at_ms) - near.x < 20) {
      if (e.event === 'lab') continue
      const many = near.text.match(/^(\d+) members/)
      near.text = many ? `${Number(many[1]) + 1} members ${word}` : `2 members ${word}`
      continue
    }
    marks.push({ e, x: x(e.at_ms), icon, tone, text: e.event === 'lab' ? word : `${who} ${word}`, tx: 0, ty: 0, anchor: 'middle' })
  }
  const taken: [number, number, number][] = []
  for (const m of marks) {
    const w = m.text.length * 6.7 + 10
    const rows = m.icon === 'flask' ? [26] : [66, 26, 82]
    const row = rows.find((y) => !taken.some(([a, b, r]) => r === y && m.x - w / 2 < b && m.x + w / 2 > a))
    if (row === undefined) {
      m.text = ''
      continue
    }
    let cx = Math.min(m.x, width - w / 2)
    cx = Math.max(cx, 104 + w / 2)
    taken.push([cx - w / 2, cx + w / 2, row])
    m.tx = cx
    m.ty = row
  }
  return marks
}

// ---------- half an hour of churn ----------

function ChurnBars() {
  const [ref, width] = useWidth<HTMLDivElement>()
  const n = 60
  const bin = 30_000
  const end = Math.ceil(now() / bin) * bin
  const bins = Array.from({ length: n }, () => ({ up: 0, down: 0, suspected: 0 }))
  let joins = 0
  let failures = 0
  for (const e of state.events) {
    const i = n - 1 - Math.floor((end - e.at_ms) / bin)
    if (i < 0 || i >= n) continue
    if (e.event === 'up' && e.reason !== 'refuted') bins[i].up++, joins++
    if (e.event === 'down' && e.reason === 'failed') bins[i].down++, failures++
    if (e.event === 'suspected') bins[i].suspected++
  }
  const max = Math.max(2, ...bins.map((b) => Math.max(b.up, b.down)))
  const x = (i: number) => 30 + ((width - 36) * i) / n
  const w = Math.max(3, (width - 36) / n - 3)
  const mid = 60
  const unit = 42 / max
  return (
    <div ref={ref} class="churn">
      {width > 0 && (
        <svg width={width} height={134} role="img" aria-label={`Last half hour: ${plural(joins, 'join')}, ${plural(failures, 'failure')}`}>
          <line x1={30} x2={width} y1={mid} y2={mid} class="base-line" />
          {[-1, 1].map((side) => (
            <g key={side}>
              <line x1={30} x2={width} y1={mid - side * 42} y2={mid - side * 42} class="grid-line" />
              <text x={24} y={mid - side * 42 + 4} text-anchor="end" class="axis">{max}</text>
            </g>
          ))}
          {bins.map((b, i) => (
            <g key={i}>
              {b.up > 0 && <rect x={x(i)} y={mid - 2 - b.up * unit} width={w} height={b.up * unit} rx={2} class="f-alive" />}
              {b.down > 0 && <rect x={x(i)} y={mid + 2} width={w} height={b.down * unit} rx={2} class="f-failed" />}
              {b.suspected > 0 && <path d={`M${x(i) + w / 2} 109l4 7h-8z`} class="f-suspect" />}
            </g>
          ))}
          {[30, 20, 10, 0].map((min, i) => (
            <text key={min} x={30 + ((width - 36) * i) / 3} y={131} text-anchor={i === 0 ? 'start' : i === 3 ? 'end' : 'middle'} class="axis">{min ? `${min} min` : 'now'}</text>
          ))}
        </svg>
      )}
    </div>
  )
}

function Holders() {
  const ttl = state.locks?.defaults.ttl_ms || 10_000
  const locks = (state.locks?.locks ?? []).filter((l) => l.held).slice(0, 6)
  const elections = state.elections.slice(0, 6)
  if (!elections.length && !locks.length) {
    return <p class="t3 idle">No election and no lock is known here. <code class="mono">consort elect cron -- ./job</code> stands in one, <code class="mono">consort lock nightly -- ./job</code> takes the other.</p>
  }
  return (
    <ul class="rows">
      {elections.map((e) => {
        const at = leaderSince(e)
        return (
          <li key={e.id} class="lead">
            <a class="t2" href={`#/elections/${encodeURIComponent(e.name)}`}>{cut(e.name, 16)}</a>
            {e.leader
              ? <span><Icon id="crown" tone="leader" title="leads" /> <Who id={e.leader.id} name={e.leader.name} /></span>
              : <span class="failed"><Icon id="vacant" tone="failed" /> nobody</span>}
            <span class="t3 sm num">{at ? `for ${at.partly ? 'at least ' : ''}${calm(at.ms)}` : ''}</span>
          </li>
        )
      })}
      {locks.map((l) => {
        const holder = l.contenders.find((c) => c.held)!
        const left = leaseLeft(holder.left_ms)
        const more = l.contenders.filter((c) => c.held).length - 1
        return (
          <li key={l.id} class="held">
            <a class="t2" href={`#/locks/${encodeURIComponent(l.name)}`}>{cut(l.name, 16)}</a>
            <span class="nw"><StateOfHolder id={holder.id} /> <Who id={holder.id} name={holder.name} />{more > 0 && <span class="t3"> +{more}</span>}</span>
            <Lease left={left} ttl={Math.max(ttl, holder.left_ms)} dead={isDead(holder.id)} name={cut(l.name)} />
            <span class="t3 sm num">{span(left)}</span>
          </li>
        )
      })}
    </ul>
  )
}

function isDead(id: string): boolean {
  return state.members.some((m) => m.id === id && m.status === 'failed')
}

function StateOfHolder({ id }: { id: string }) {
  return isDead(id) ? <StateOf id={id} /> : <Icon id="key" tone="lock" title="holds" />
}
