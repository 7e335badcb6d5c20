// A sentence, then figures, then pictures.

import { useEffect, useState } from 'preact/hooks'
import { agreement, blocked, byTrouble, counts, label, leaderSince, leaseLeft } from '../derive'
import { bytes, calm, cut, plural, span } from '../format'
import { health, plain } from '../health'
import { now, state, useStore } from '../store'
import { Card, Lease, Linked, StateOf, Unit, useWidth, Who } from '../ui/bits'
import { Icon } from '../ui/icons'
import { JustNow } from './strip'

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
          <h1><Linked text={h.head} /></h1>
          <Announce text={plain(h.head)} />
          {h.detail.length > 0 && <p class="d"><Linked text={h.detail.join(' ')} /></p>}
          {h.advice && <p class="a"><Icon id="refute" tone="alive" /><span>{plain(h.advice)}</span></p>}
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
        <dd class="v">{held} {waiting > 0 && <small>· {plural(waiting, 'waits', 'wait')}</small>}</dd>
        <dd class="s">{stuck ? <><Icon id="failed" tone="failed" /> {plural(stuck, 'holder')} failed</> : state.locks && !state.locks.readiness.mature ? `ready in ${calm(state.locks.readiness.matures_in_ms)}` : held ? 'all renewed' : 'nobody asks for one'}</dd>
      </div>
      <div>
        {lists ? (
          <>
            <dt>Lists that agree</dt>
            <dd class="v">{lists.agree} <small>of {lists.of}{lists.unknown > 0 ? `, ${lists.unknown} unknown` : ''}</small></dd>
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
        <dd class="v">{rate === null ? '–' : <Unit text={bytes(rate)} after="/s sent" />}</dd>
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
