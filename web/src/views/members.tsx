// Everybody this agent knows; trouble first.

import { Component } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { aside, byTrouble, counts, headline, hopsTo, iconOf, label, memberOf, nameOf, since, split, versionOf } from '../derive'
import { calm, clock, cut, list, plural, rtt, safe, span } from '../format'
import { now, state, useStore } from '../store'
import { Page, Rank, Shell, Tags } from '../ui/bits'
import { Icon } from '../ui/icons'
import type { Member } from '../types'

/** Rows that a long table shows more or fewer of at once. */
const STEP = 16

const STATES = ['alive', 'suspect', 'failed', 'left'] as const

export function Members({ chosen }: { chosen: string | null }) {
  useStore(1000)
  const [status, setStatus] = useState<string>('all')
  const [text, setText] = useState('')
  const [zone, setZone] = useState('')
  const n = counts()
  const of: Record<string, number> = { alive: n.alive, suspect: n.suspect, failed: n.failed, left: n.left }
  const zones = [...new Set(state.members.map((m) => m.tags.zone).filter(Boolean))].sort()
  const needle = text.toLowerCase()
  const matches = (m: Member) =>
    (status === 'all' ? true : m.status === status) &&
    (!zone || m.tags.zone === zone) &&
    (!needle || `${m.name} ${m.id} ${m.address} ${Object.entries(m.tags).flat().join(' ')}`.toLowerCase().includes(needle))
  const rows = byTrouble().filter(matches)
  const self = state.self ? label(state.self) : ''
  return (
    <Page
      title="Members"
      sub={<>{state.members.length} known to <bdi>{self}</bdi>. Sorted by what needs eyes first.</>}
      right={
        <div class="chips">
          <label class="search">
            <span class="sr">Search by name, address or tag</span>
            <input type="search" placeholder="Name, address, tag" value={text} onInput={(e) => setText(e.currentTarget.value)} />
          </label>
          <button type="button" class="chip" aria-pressed={status === 'all'} onClick={() => setStatus('all')}>All {state.members.length}</button>
          {STATES.filter((s) => of[s] > 0 || s === 'alive').map((s) => (
            <button key={s} type="button" class="chip" aria-pressed={status === s} onClick={() => setStatus(s)}>
              <Icon id={s} tone={s} /> {s} {of[s]}
            </button>
          ))}
          {zones.length > 1 && (
            <label class="pick">
              <span class="sr">Zone</span>
              <select value={zone} onChange={(e) => setZone(e.currentTarget.value)}>
                <option value="">all zones</option>
                {zones.map((z) => <option key={z} value={z}>{cut(z, 20)}</option>)}
              </select>
            </label>
          )}
        </div>
      }
    >
      <div class={chosen ? 'split first' : ''}>
        <Table rows={rows} chosen={chosen} />
        {chosen && <Detail id={chosen} />}
      </div>
    </Page>
  )
}

function Table({ rows, chosen }: { rows: Member[]; chosen: string | null }) {
  const box = useRef<HTMLDivElement>(null)
  const [range, setRange] = useState<[number, number]>([0, 120])
  const height = rows.length > 200 ? 28 : rows.length > 20 ? 32 : 38
  const windowed = rows.length > 120
  useEffect(() => {
    const main = document.querySelector('main')
    if (!windowed || !main) return
    const look = () => {
      const top = box.current ? main.scrollTop - box.current.offsetTop : 0
      // In steps, so that most frames of a scroll draw nothing anew.
      const from = Math.max(0, (Math.floor(top / height / STEP) - 1) * STEP)
      const to = from + Math.ceil(main.clientHeight / height / STEP + 2) * STEP
      setRange((old) => (old[0] === from && old[1] === to ? old : [from, to]))
    }
    look()
    main.addEventListener('scroll', look, { passive: true })
    return () => main.removeEventListener('scroll', look)
  }, [windowed, height])
  const [from, to] = windowed ? range : [0, rows.length]
  const far = split()?.far
  const tick = `${Math.floor(Date.now() / 1000)} ${state.at.summaries} ${state.at.elections} ${state.locks?.locks.length}`
  return (
    <div class="card ov-x" ref={box}>
      <table class={`members h${height} ${windowed ? 'windowed' : ''}`} aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            <th>State</th><th>Name</th><th>Since</th><th class="hm">By whose word</th><th class="num">Round trip</th><th class="num hm hs">Distance</th><th class="hm">Fails</th><th class="hm hs">Version</th><th class="hm hs">Zone and tags</th>
          </tr>
        </thead>
        <tbody>
          {from > 0 && <Spacer rows={from} height={height} />}
          {rows.slice(from, to).map((m, i) => <Row key={m.id} m={m} at={from + i + 2} on={m.id === chosen} far={far?.has(m.id) ?? false} tick={tick} />)}
          {to < rows.length && <Spacer rows={rows.length - to} height={height} />}
        </tbody>
      </table>
      {rows.length === 0 && <p class="t3 idle pad">No member matches.</p>}
    </div>
  )
}

function Spacer({ rows, height }: { rows: number; height: number }) {
  const cell = useRef<HTMLTableCellElement>(null)
  // Before it is shown: the rows below must not jump. One cell, as columns that are hidden must not come back by it.
  useLayoutEffect(() => {
    if (cell.current) cell.current.style.height = `${rows * height}px`
  })
  return <tr aria-hidden="true" class="spacer"><td ref={cell} /></tr>
}

interface RowProps {
  m: Member
  at: number
  on: boolean
  far: boolean
  /** Changes when what is shown of elections, locks or the time may have. */
  tick: string
}

/** Is drawn anew when something changed, not whenever the table is. */
class Row extends Component<RowProps> {
  shouldComponentUpdate(next: RowProps): boolean {
    const now = this.props
    return next.m !== now.m || next.on !== now.on || next.far !== now.far || next.tick !== now.tick || next.at !== now.at
  }

  render() {
    return row(this.props)
  }
}

function row({ m, at, on, far }: RowProps) {
  const span = since(m)
  const heard = m.heard_ms === null ? null : m.heard_ms + Date.now() - state.at.members
  const leads = state.elections.filter((e) => e.leader?.id === m.id)
  const holds = (state.locks?.locks ?? []).filter((l) => l.contenders.some((c) => c.held && c.id === m.id))
  const version = versionOf(m.id)
  const open = () => (location.hash = on ? '#/members' : `#/members/${m.id}`)
  const word = m.self ? 'this agent' : m.status === 'alive' ? (heard === null ? '–' : `heard ${calm(heard)} ago`) : m.status === 'left' ? 'its own' : accusers(m)
  return (
    <tr aria-current={on || undefined} aria-rowindex={at} onClick={open}>
      <td class={`nw ${m.status}`}><Icon id={far && m.status === 'failed' ? 'beyond' : m.status} tone={m.status} /> {m.status}</td>
      <td>
        <a href={`#/members/${m.id}`} class="plain" onClick={(e) => e.stopPropagation()}><bdi>{label(m)}</bdi></a>
        {leads.map((e) => <span class="tag leader" key={e.id}><Icon id="crown" /> {cut(e.name, 14)}</span>)}
        {holds.slice(0, 2).map((l) => <span class="tag lock" key={l.id}><Icon id="key" /> {cut(l.name, 14)}</span>)}
      </td>
      <td class="nw">{span === null ? <span title="before this agent came">–</span> : calm(span)}</td>
      <td class="hm t2 nw">{word}</td>
      <td class="num nw">{m.self ? '–' : rtt(m.rtt_us)}</td>
      <td class="num nw hm hs t2">{distance(m, true) || '–'}</td>
      <td class="hm nw"><Fails m={m} /></td>
      <td class="hm hs nw t2">{version ? cut(version, 16) : <span class="t3" title={m.status === 'alive' ? 'It has not told yet' : 'It does not answer'}>–</span>}</td>
      <td class="hm hs"><Tags tags={m.tags} /></td>
    </tr>
  )
}

/** An hour says something about a week; less does not. */
const OBSERVED_LEAST_S = 3600

function Fails({ m }: { m: Member }) {
  const r = m.reliability
  if (m.self) return <span class="t3" title="Of itself a node knows the rank only"><Rank bucket={r.bucket} /> own rank</span>
  if (!r.observed_s) return <span class="t3" title="Not observed yet">–</span>
  if (r.observed_s < OBSERVED_LEAST_S) return <span class="t3" title={`Observed for ${calm(r.observed_s * 1000)}`}><Rank bucket={r.bucket} /> too early</span>
  return <><Rank bucket={r.bucket} /> {perWeek(r.per_week_milli)} a week</>
}

function perWeek(milli: number): string {
  const x = milli / 1000
  return x >= 100 ? String(Math.round(x)) : x >= 10 ? x.toFixed(0) : x.toFixed(1)
}

function accusers(m: Member): string {
  const known = state.cases.get(m.id)?.case.accusers ?? []
  const names = known.map((a) => nameOf(a.id, a.name))
  if (names.length > 1) return `${names[0]}, and ${names.length - 1} more`
  return names[0] ?? (m.accuser ? nameOf(m.accuser) : '–')
}

// ---------- one member ----------

export function Detail({ id, back = '#/members' }: { id: string; back?: string }) {
  const m = state.members.find((m) => m.id === id)
  const [history, setHistory] = useState(false)
  const box = useRef<HTMLElement>(null)
  // Where it stands above the list, whoever chose from far below would not see it.
  useEffect(() => {
    if (matchMedia('(max-width: 1180px)').matches) box.current?.scrollIntoView({ block: 'start' })
  }, [id])
  if (!m) {
    return (
      <aside class="card side" aria-label="Member">
        <p class="t3">No member with the id {cut(id)} is known here any more.</p>
        <a href={back}>Back</a>
      </aside>
    )
  }
  const age = since(m)
  const about = state.events.filter((e) => e.member?.id === id || e.leader?.id === id)
  return (
    <aside ref={box} class="card side" aria-label={`Member ${label(m)}`}>
      <h2>
        <Icon id={m.status} tone={m.status} /> <bdi>{label(m)}</bdi>
        <span class={`tag ${m.status}`}>{m.status} {age === null ? '' : calm(age)}</span>
        <a class="close" href={back} aria-label="Close">✕</a>
      </h2>
      {!m.self && <Why m={m} />}
      {m.self && <p class="t2 sm">This is the agent whose view you see. A node holds nothing against itself; ask another one.</p>}
      <div class="fold">
        <h3>History <span class="t3">{plural(about.length, 'event')}</span></h3>
        <ol class="past">
          {(history ? about : about.slice(-5)).slice().reverse().map((e) => {
            const [icon, tone] = iconOf(e)
            return <li key={e.seq}><Icon id={icon} tone={tone} /><span><bdi>{headline(e)}</bdi> <span class="t3"><bdi>{aside(e)}</bdi></span></span><time class="t3 xs" dateTime={new Date(e.at_ms).toISOString()}>{clock(e.at_ms, false)}</time></li>
          })}
        </ol>
        {about.length > 5 && <button type="button" class="btn sm" onClick={() => setHistory(!history)}>{history ? 'Fewer' : `All ${about.length}`}</button>}
        {about.length === 0 && <p class="t3 sm">Nothing happened to it since this agent runs.</p>}
      </div>
      <dl class="kv fold">
        <dt>Id</dt><dd class="mono">{m.id}</dd>
        <dt>Address</dt><dd class="mono"><bdi>{safe(m.address)}</bdi></dd>
        <dt>Life, incarnation</dt><dd class="mono">{m.life}, {m.incarnation}</dd>
        {m.key && <><dt>{m.self ? 'Seals with key' : 'Heard under key'}</dt><dd class="mono"><bdi>{safe(m.key)}</bdi></dd></>}
        {versionOf(m.id) && <><dt>Version</dt><dd>{cut(versionOf(m.id)!, 32)}</dd></>}
        {m.certificate != null && <><dt>Certificate</dt><dd><span class="mono">{m.certificate}</span>{m.roles && `, may ${m.roles.join(', ') || 'do nothing more'}`}</dd></>}
        <dt>Round trip</dt><dd>{rtt(m.rtt_us)}</dd>
        {distance(m) && <><dt>Distance</dt><dd>{distance(m)}</dd></>}
        <dt>Suspected</dt><dd>{m.suspicions === 0 ? 'never' : `${plural(m.suspicions, 'time')}, ${m.refutations} answered`}</dd>
        <dt>Recent health</dt><dd>{m.health_percent} %</dd>
        <dt>Failures</dt><dd>{m.self || m.reliability.observed_s < OBSERVED_LEAST_S ? `rank ${m.reliability.bucket}` : `${perWeek(m.reliability.per_week_milli)} a week, rank ${m.reliability.bucket}`}</dd>
        {Object.entries(m.tags).map(([key, value]) => <><dt><bdi>{cut(key, 20)}</bdi></dt><dd title={safe(value)}><bdi>{cut(value, 60)}</bdi></dd></>)}
      </dl>
      <Shell command={m.self ? 'consort members' : `consort why member ${cut(m.name || m.id)}`} />
    </aside>
  )
}

/** By coordinates, which predict round trips between any two, or by announced positions. */
export function between(a: Member, b: Member): number | null {
  if (!a.place || !b.place) return null
  const [x, y, z] = [0, 1, 2].map((i) => a.place![i] - b.place![i])
  return Math.hypot(x, y, z) + a.place[3] + b.place[3]
}

/** How far a member is: in hops where links are known, and as far as positions or coordinates tell. */
function distance(m: Member, short = false): string {
  const own = memberOf(state.self?.id ?? '')
  if (!own || m.self) return ''
  const hops = hopsTo(m.id)
  const d = between(own, m)
  const far = d === null ? '' : state.self?.positions ? `${(d / 1000).toFixed(1)} m` : `${(d / 1000).toFixed(1)} ms${short ? '' : ' estimated'}`
  const steps = hops === undefined ? '' : plural(hops, 'hop')
  return short ? steps || far : [steps, far].filter(Boolean).join(', ')
}

function Why({ m }: { m: Member }) {
  const known = state.cases.get(m.id)
  if (!known) return <p class="t3 sm">Asking what is held against it…</p>
  const c = known.case
  const late = state.connection === 'gone' ? 0 : Date.now() - known.at
  const ago = (ms: number) => `${span(ms + late)} ago`
  const steps = []
  steps.push(<Step key="h" icon={m.status === 'alive' ? 'alive' : 'dot'} tone="alive" title="Last heard by this agent" at={ago(c.heard_ms)} text={m.rtt_us === null ? '' : `round trip ${rtt(m.rtt_us)}`} />)
  const [first, ...rest] = c.accusers
  if (first) {
    const others = rest.map((a) => nameOf(a.id, a.name))
    steps.push(<Step key="a" icon="suspect" tone="suspect" title={`Accused by ${nameOf(first.id, first.name)}`} at={ago(first.heard_ms)} text={others.length ? `then ${list(others, 4)}: ${plural(c.accusers.length, 'accuser')}` : 'the only accuser so far'} />)
  }
  if (c.verdict_in_ms !== null && m.status === 'suspect') {
    steps.push(<Step key="v" icon="beyond" tone="left" title="Counts as failed" at={`in ${span(Math.max(0, c.verdict_in_ms - late))}`} text="unless it answers for itself" />)
  }
  if (c.down_ms !== null) {
    const word = c.why === 'left' ? 'Left' : c.why === 'restarted' ? 'Restarted' : 'Failed'
    const text = c.why === 'left' ? 'it said goodbye' : c.suspected_ms !== null ? `suspected for ${span(c.suspected_ms, true)} without an answer` : ''
    steps.push(<Step key="d" icon={c.why === 'left' ? 'left' : 'failed'} tone={c.why === 'left' ? 'left' : 'failed'} title={word} at={ago(c.down_ms)} text={text} />)
    for (const e of state.elections) {
      const i = e.terms.findIndex((t) => t.id === m.id && t.ended === 'failed' && t.until_ms !== null && now() - t.until_ms < c.down_ms! + late + 5000)
      const next = i >= 0 ? e.terms[i + 1] : undefined
      if (i < 0) continue
      steps.push(<Step key={`e${e.id}`} icon={next ? 'crown' : 'vacant'} tone={next ? 'leader' : 'failed'} title={`${cut(e.name)} lost its leader`} at="" text={next ? `${nameOf(next.id, next.name)} leads since ${span(now() - next.from_ms)} ago, with a greater token` : 'nobody leads yet'} />)
    }
    for (const l of state.locks?.locks ?? []) {
      const held = l.contenders.find((x) => x.held && x.id === m.id)
      if (!held) continue
      const next = l.contenders.find((x) => !x.held)
      steps.push(<Step key={`l${l.id}`} icon="key" tone="failed" title={`${cut(l.name)} is not renewed`} at={`${span(Math.max(0, held.left_ms - (Date.now() - state.at.locks)))} left`} text={next ? `then ${nameOf(next.id, next.name)} has it` : 'then it is free'} />)
    }
    if (c.forgotten_in_ms !== null) {
      steps.push(<Step key="f" icon="beyond" tone="left" title="Forgotten" at={`in ${span(Math.max(0, c.forgotten_in_ms - late))}`} text="until then it is asked now and then, and welcome back" />)
    }
  }
  const question = m.status === 'alive' ? 'Why is it here?' : m.status === 'suspect' ? 'Why is it suspected?' : m.status === 'left' ? 'Why is it gone?' : 'Why is it down?'
  return (
    <>
      <h3 class="q3">{question}</h3>
      <ol class="why">{steps}</ol>
    </>
  )
}

function Step({ icon, tone, title, at, text }: { icon: string; tone: string; title: string; at: string; text: string }) {
  return (
    <li>
      <Icon id={icon} tone={tone} />
      <span class="dt">{at}</span>
      <span class="w"><bdi>{title}</bdi></span>
      {text && <p><bdi>{text}</bdi></p>}
    </li>
  )
}
