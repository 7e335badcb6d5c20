// Who holds what, who waits, and what a grant stands on.

import { useState } from 'preact/hooks'
import { blocked, leaseLeft, nameOf, split, statusOf, waited } from '../derive'
import { calm, cut, plural, span } from '../format'
import { now, state, useStore } from '../store'
import { Card, Lease, Page, Seg, Shell, Token, useWidth, Who } from '../ui/bits'
import { Icon } from '../ui/icons'
import type { Contender, Lock } from '../types'

export function Locks({ chosen }: { chosen: string | null }) {
  useStore(100)
  const [only, setOnly] = useState<'all' | 'contended'>('all')
  const [free, setFree] = useState(6)
  const answer = state.locks
  const all = answer?.locks ?? []
  const held = all.filter((l) => l.held).length
  const waiting = all.reduce((n, l) => n + l.waiting, 0)
  const stuck = blocked()
  const contended = all.filter((l) => l.waiting > 0)
  const shown = [...(only === 'all' ? all : contended)].sort((a, b) => Number(stuck.includes(b)) - Number(stuck.includes(a)))
  const last = (l: Lock) => l.turns.at(-1)?.until_ms ?? 0
  const idle = only === 'all' ? [...(answer?.idle ?? [])].sort((a, b) => last(b) - last(a)) : []
  const lock = [...shown, ...idle].find((l) => l.name === chosen) ?? shown[0] ?? idle[0]
  const ready = answer?.readiness
  const sub = [
    all.length ? `${held} held, ${waiting ? plural(waiting, 'request waits', 'requests wait') : 'nobody waits'}.` : 'Nobody holds or waits for a lock.',
    ...stuck.map((l) => `${cut(l.name)} waits for the lease of a failed holder.`),
    ready && !ready.mature ? `This node counts as a witness in ${calm(ready.matures_in_ms)}.` : '',
  ]
  return (
    <Page
      title="Locks"
      sub={sub.filter(Boolean).join(' ')}
      right={all.length > 1 && <Seg label="Which locks" value={only} set={setOnly} options={[['all', `All ${all.length}`], ['contended', `Contended ${contended.length}`]]} />}
    >
      {!lock && <Empty />}
      {lock && (
        <div class="split">
          <div>
            <div class="card locklist">
              {shown.map((l) => <LockRow key={l.id} lock={l} on={l === lock} />)}
              {idle.slice(0, free).map((l) => <IdleRow key={l.id} lock={l} on={l === lock} />)}
              {idle.length > free && <p class="foot"><button type="button" class="btn sm" onClick={() => setFree(free + 50)}>{plural(idle.length - free, 'more free lock')}</button></p>}
              <p class="foot xs t3">A bar is what is left of the lease. It is renewed at the mark, so it rarely falls below. The hatched end is the notice: work has stopped, and nobody else has the lock yet.</p>
            </div>
            <Turns lock={lock} />
          </div>
          <Detail lock={lock} />
        </div>
      )}
    </Page>
  )
}

function Empty() {
  return (
    <Card class="narrowcard" title="No lock is held, and nobody waits">
      <pre class="mono code">consort lock demo -- sleep 30</pre>
      <p class="sm t2">takes one while the command runs. It appears here by itself, with its holder, its lease and who waits.</p>
    </Card>
  )
}

const href = (l: Lock) => `#/locks/${encodeURIComponent(l.name)}`

function LockRow({ lock, on }: { lock: Lock; on: boolean }) {
  const ttl = state.locks!.defaults.ttl_ms
  const holders = lock.contenders.filter((c) => c.held)
  const waiters = lock.contenders.filter((c) => !c.held)
  const dead = holders.some((c) => statusOf(c.id) === 'failed')
  const late = holders.some((c) => leaseLeft(c.left_ms) / Math.max(ttl, c.left_ms) < 0.4)
  const shared = lock.contenders.some((c) => c.mode === 'shared')
  const turn = lock.turns.at(-1)
  return (
    <article class={`lk ${on ? 'sel' : ''}`}>
      <div>
        <h3><a href={href(lock)}><bdi>{cut(lock.name)}</bdi></a></h3>
        <span class="xs t3">{kindOf(lock, shared)}</span>
      </div>
      <div>
        {holders.map((c) => <Holder key={`${c.id} ${c.token}`} c={c} ttl={ttl} name={lock.name} />)}
        {holders.length === 0 && <p class="t3 sm">Nobody holds it just now.</p>}
        {waiters.length > 0 ? (
          <div class="q">
            <span class="t3 then">then</span>
            {waiters.slice(0, 6).map((c, i) => (
              <span class="wait" key={c.token}><em>{i + 1}</em> <Who id={c.id} name={c.name} />{c.mode === 'shared' && shared && waiters.some((w) => w.mode !== 'shared') ? <em>reads</em> : null}{c.behind > 0 && <em>+{c.behind}</em>}{c.waited_ms !== null && <em>{calm(waited(c))}</em>}</span>
            ))}
            {waiters.length > 6 && <span class="t3">and {waiters.length - 6} more</span>}
          </div>
        ) : <p class="t3 sm">Nobody waits.</p>}
      </div>
      <div class="sm t2">
        {dead && <><span class="tag failed"><Icon id="failed" /> holder failed</span><p>Not renewed. It blocks for one lease and no longer.</p></>}
        {!dead && late && <><span class="tag suspect"><Icon id="suspect" /> renewal late</span></>}
        {!dead && !late && turn && turn.until_ms === null && <p>held for {turn.partly ? 'at least ' : ''}{calm(now() - turn.from_ms)}</p>}
        {lock.turns.length > holders.length && <p class="t3">{plural(lock.turns.filter((t) => t.until_ms !== null).length, 'earlier turn')}</p>}
      </div>
    </article>
  )
}

function kindOf(lock: Lock, shared: boolean): string {
  if (!lock.semaphore) return shared ? 'shared' : 'exclusive'
  const held = lock.contenders.filter((c) => c.held).length
  return lock.permits ? `${held} of ${plural(lock.permits, 'permit')} held` : `${plural(held, 'permit')} held`
}

function Holder({ c, ttl, name }: { c: Contender; ttl: number; name: string }) {
  const left = leaseLeft(c.left_ms)
  const dead = statusOf(c.id) === 'failed'
  const full = Math.max(ttl, c.left_ms)
  return (
    <div class="hold">
      <span class="nw"><Icon id={dead ? 'failed' : 'key'} tone={dead ? 'failed' : 'lock'} title={dead ? 'failed' : 'holds'} /> <Who id={c.id} name={c.name} /></span>
      <Lease left={left} ttl={full} dead={dead} name={cut(name)} />
      <span class={`num sm ${dead ? 'failed' : ''}`}>{span(left)} left</span>
    </div>
  )
}

function IdleRow({ lock, on }: { lock: Lock; on: boolean }) {
  const last = lock.turns.at(-1)
  return (
    <article class={`lk ${on ? 'sel' : ''}`}>
      <div>
        <h3><a href={href(lock)}><bdi>{cut(lock.name)}</bdi></a></h3>
        <span class="xs t3">free</span>
      </div>
      <p class="t3 sm">{last?.until_ms ? <>Given back by <Who id={last.id} name={last.name} bold={false} /> {calm(now() - last.until_ms)} ago.</> : 'Nobody holds it.'}</p>
      <div class="sm t3">{plural(lock.turns.length, 'turn')} seen</div>
    </article>
  )
}

// ---------- turns ----------

function Turns({ lock }: { lock: Lock }) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const end = now()
  const first = lock.turns[0]?.from_ms ?? end
  const reach = Math.min(600_000, Math.max(120_000, end - first))
  const left = Math.min(110, width * 0.26)
  const x = (at: number) => left + ((width - left - 6) * (at - (end - reach))) / reach
  const turns = lock.turns.filter((t) => (t.until_ms ?? end) > end - reach)
  const waiting = lock.contenders.filter((c) => !c.held)
  const ids = [...new Set([...turns.map((t) => t.id), ...waiting.map((c) => c.id)])].slice(-8)
  const y = (id: string) => 16 + ids.indexOf(id) * 30
  const height = ids.length * 30 + 26
  if (!ids.length) return null
  return (
    <Card title={`Turns of ${cut(lock.name)}`} class="turns" right={<><span><i class="key-holds" /> holds</span><span><i class="key-waits" /> waits</span><span><i class="key-dead" /> holder failed</span></>}>
      <div ref={ref}>
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Turns: ${turns.slice(-5).map((t) => `${nameOf(t.id, t.name)} ${span((t.until_ms ?? end) - t.from_ms)}`).join(', ')}`}>
            {ids.map((id) => {
              const any = turns.find((t) => t.id === id) ?? waiting.find((c) => c.id === id)!
              return (
                <g key={id}>
                  <text x={0} y={y(id) + 4} class="lane">{cut(nameOf(id, any.name), 13)}</text>
                  <line x1={left} x2={width} y1={y(id) + 15} y2={y(id) + 15} class="grid-solid" />
                </g>
              )
            })}
            {turns.filter((t) => ids.includes(t.id)).map((t) => {
              const a = Math.max(left, x(t.from_ms))
              const w = Math.max(3, x(t.until_ms ?? end) - a)
              const open = t.until_ms === null
              const dead = open && statusOf(t.id) === 'failed'
              const wait = t.waited_ms ? Math.max(left, x(t.from_ms - t.waited_ms)) : a
              return (
                <g key={`${t.id} ${t.token}`}>
                  {a - wait > 4 && <line x1={wait} x2={a - 2} y1={y(t.id)} y2={y(t.id)} class="waits" />}
                  <rect x={a} y={y(t.id) - 9} width={w} height={18} rx={4} class={`turn ${open ? 'open' : ''} ${dead || t.ended === 'failed' ? 'dead' : ''}`} />
                </g>
              )
            })}
            {waiting.filter((c) => ids.includes(c.id)).map((c) => <line key={c.token} x1={Math.max(left, x(end - waited(c)))} x2={x(end)} y1={y(c.id)} y2={y(c.id)} class="waits" />)}
            <text x={left} y={height - 3} class="axis">{span(reach)} ago</text>
            <text x={width} y={height - 3} text-anchor="end" class="axis">now</text>
          </svg>
        )}
      </div>
      <p class="xs t3">Hand-overs as they happen. Turns of other members that last less than half a second may be missing.</p>
    </Card>
  )
}

// ---------- one lock ----------

function spread(spans: number[]): string {
  if (spans.length < 2) return spans.length ? span(spans[0]) : '–'
  const sorted = [...spans].sort((a, b) => a - b)
  return `${span(sorted[sorted.length >> 1])} median, ${span(sorted[sorted.length - 1])} longest`
}

function Detail({ lock }: { lock: Lock }) {
  const holder = lock.contenders.find((c) => c.held)
  const over = lock.turns.filter((t) => t.until_ms !== null && !t.partly).map((t) => t.until_ms! - t.from_ms)
  const waits = lock.turns.flatMap((t) => (t.waited_ms === null ? [] : [t.waited_ms]))
  const d = state.locks!.defaults
  const known = state.members.filter((m) => m.status !== 'left').length
  return (
    <aside class="card side" aria-label={`Lock ${cut(lock.name)}`}>
      <h2><Icon id="key" tone="lock" /> <bdi>{cut(lock.name)}</bdi></h2>
      <dl class="kv">
        {holder && <><dt>Token</dt><dd><Token token={holder.token} /></dd></>}
        {holder && <><dt>By whose word</dt><dd>{holder.own_word ? 'the holder’s own' : 'its witnesses’'}</dd></>}
        {over.length > 0 && <><dt>Past turns</dt><dd>{spread(over)}</dd></>}
        {waits.length > 0 && <><dt>Past waits</dt><dd>{spread(waits)}</dd></>}
        <dt>Lease of this agent</dt><dd>{span(d.ttl_ms)}</dd>
      </dl>
      <div class="fold">
        <h3>{holder ? 'Who supports the grant' : 'What supports a grant'}</h3>
        <Backers known={known} bound={d.bound} holder={holder} />
      </div>
      <div class="fold">
        <h3>If the network splits</h3>
        <Policies bound={d.bound} memory={d.memory_ms} known={known} />
        <p class="xs t3">Marked is how this agent asks unless a request says otherwise. What a lock guards must check the token where two sides may both lock.</p>
      </div>
      {lock.semaphore && <p class="xs t3 fold">Each permit is a lock of its own. Token, word and witnesses are those of the first holder.</p>}
      <Shell command={`consort locks ${cut(lock.name)}`} />
    </aside>
  )
}

function bounds(bound: string, known: number): number {
  const floor = bound.match(/^floor:(\d+)/)
  if (floor) return Math.max(Number(floor[1]), known)
  if (bound.startsWith('voters:')) return bound.split(',').length
  return known
}

/** One box for each node there may be: filled are those that told of the request, dashed is what a grant takes. */
function Backers({ known, bound, holder }: { known: number; bound: string; holder?: Contender }) {
  const ready = state.locks!.readiness
  const most = bounds(bound, Math.max(known, bound.startsWith('floor') || bound.startsWith('voters') ? 0 : (ready.members ?? 0)))
  const need = Math.floor(most / 2) + 1
  const told = holder?.supporters ? Math.min(holder.supporters, most) : null
  const shown = Math.min(most, 28)
  const box = (n: number) => Math.round((n * shown) / most)
  const [mark, on] = [box(need), box(told ?? need)]
  const who = bound.startsWith('voters:') ? 'voters' : 'nodes'
  return (
    <>
      <div class="backers" role="img" aria-label={told === null ? `More than half: ${need} of ${most}` : `${told} of ${most} support it; it takes ${need}`}>
        {Array.from({ length: shown }, (_, i) => <i key={i} class={`${i < on ? 'on' : ''} ${i === mark - 1 ? 'need' : ''}`} />)}
      </div>
      {told !== null && <p class="sm"><b>{told} of {most}</b> {who} told of it in time: {holder!.own_word ? 'the holder and its witnesses' : 'its witnesses'}.</p>}
      <p class="sm t2">It takes {need} of at most {most} {who}: more than half (dashed line), so that two grants have a witness in common.</p>
    </>
  )
}

function Policies({ bound, memory, known }: { bound: string; memory: number; known: number }) {
  const parts = split()
  const near = parts ? parts.near.size : Math.ceil((known * 2) / 3)
  const far = parts ? parts.far.size : known - near
  const floor = bound.match(/^floor:(\d+)/)
  const n = floor ? Number(floor[1]) : Math.max(known, 3)
  const rows = [
    { key: 'members', title: 'members', far: far * 2 > known, near: near * 2 > known, text: 'Only a side with more than half of all members; failed ones count.' },
    { key: 'available', title: 'available', far: true, near: true, text: `Both sides, once the other has been gone for ${span(memory)}.` },
    { key: 'floor', title: `floor:${n}`, far: far > n / 2, near: near > n / 2, text: `A side of ${plural(Math.floor(n / 2), 'node')} or fewer never locks.` },
    { key: 'voters', title: 'voters', far: false, near: true, text: 'Only a side with more than half of the voters.' },
  ]
  return (
    <div class="pol">
      {rows.map((r) => (
        <div key={r.key} class={bound.startsWith(r.key) ? 'on' : ''}>
          <span class="sides" aria-hidden="true">
            <span class="near">{near}<Icon id={r.near ? 'key' : 'left'} tone={r.near ? 'lock' : 'left'} /></span>
            <i />
            <span class="far">{far}<Icon id={r.far ? 'key' : 'left'} tone={r.far ? 'lock' : 'left'} /></span>
          </span>
          <span><b>{r.title}</b><p>{r.text}</p></span>
        </div>
      ))}
    </div>
  )
}
