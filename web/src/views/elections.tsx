// Who leads, why, for how long, and how sure that is.

import { leaderSince, nameOf, statusOf, vacancy, vacantSince } from '../derive'
import { calm, clock, cut, ended, list, plural, span } from '../format'
import { now, state, useStore } from '../store'
import { Card, Page, Rank, Shell, StateOf, Token, useWidth, Who } from '../ui/bits'
import { Icon } from '../ui/icons'
import type { Candidate, Election, Term } from '../types'

export function Elections({ chosen }: { chosen: string | null }) {
  useStore(500)
  const all = state.elections
  const e = all.find((e) => e.name === chosen) ?? all[0]
  if (!e) {
    return (
      <Page title="Elections" sub="Who acts for all.">
        <Card class="narrowcard" title="No election is known here">
          <pre class="mono code">consort elect cron -- ./job</pre>
          <p class="sm t2">runs a command on one member of the group at a time, and on another when that one goes.</p>
        </Card>
      </Page>
    )
  }
  const criteria = ['class', ...e.score]
  return (
    <Page
      title={cut(e.name)}
      sub={`${plural(e.candidates.length, 'candidate')} among ${plural(e.churn?.known ?? state.members.length, 'member')}. Ranked by ${list(criteria, 4)}; then a hash decides.`}
      right={all.length > 1 && (
        <div class="seg" role="group" aria-label="Election">
          {all.slice(0, 8).map((x) => <a key={x.id} href={`#/elections/${encodeURIComponent(x.name)}`} aria-current={x === e || undefined}>{cut(x.name, 18)}</a>)}
        </div>
      )}
    >
      <div class="grid first">
        <LeaderCard e={e} />
        <Terms e={e} />
        <Sieve e={e} />
        <Certainty e={e} />
        <Next e={e} />
      </div>
    </Page>
  )
}

function LeaderCard({ e }: { e: Election }) {
  const at = leaderSince(e)
  const vacant = vacantSince(e)
  const l = e.leader
  const before = merged(e.terms).reverse().find((t) => t.until_ms !== null && t.id !== l?.id)
  const follow = state.lab?.nodes.filter((n) => n.sees && n.leader === l?.id).length
  const running = state.lab?.nodes.filter((n) => n.sees).length
  return (
    <Card class="c5">
      <div class="chief">
        <span class={`seal ${l ? '' : 'empty'}`}><Icon id={l ? 'crown' : 'vacant'} tone={l ? 'leader' : 'failed'} /></span>
        <div>
          <h2>{l ? <Who id={l.id} name={l.name} /> : 'Nobody leads'}</h2>
          <p class="t2">
            {l && at ? `leads for ${at.partly ? 'at least ' : ''}${calm(at.ms)}` : vacant !== null ? `for ${calm(vacant)}` : ''}
            {l && follow !== undefined ? `, ${follow} of ${running} follow` : ''}
            {e.electing ? ', an election runs' : ''}
          </p>
        </div>
      </div>
      <dl class="kv">
        {l && <><dt>Stage</dt><dd><Icon id={l.stage === 'confirmed' ? 'refute' : 'suspect'} tone={l.stage === 'confirmed' ? 'alive' : 'suspect'} /> {l.stage}{l.degraded ? ', degraded' : ''}</dd></>}
        {e.role === 'leader' && <><dt>May act for</dt><dd>{e.acting ? `${span(e.valid_for_ms)} more, renewed by each word heard` : 'not yet'}</dd></>}
        {l && <><dt>Term</dt><dd class="mono">{l.term}</dd></>}
        {l && <><dt>Token</dt><dd><Token token={l.token} /></dd></>}
        {e.preempt && <><dt>Replaced</dt><dd>{replaced(e.preempt)}</dd></>}
        {before && <><dt>Before it</dt><dd>{nameOf(before.id, before.name)}, {span((before.until_ms ?? 0) - before.from_ms)}, {ended(before.ended)}</dd></>}
        <dt>This node is</dt><dd>{e.role === 'member' ? 'a member that does not stand' : `the ${e.role}`.replace('the candidate', 'a candidate')}</dd>
      </dl>
      <Shell command={`consort leader ${cut(e.name)} --explain`} />
    </Card>
  )
}

/** When a better candidate takes the leader's place. */
function replaced({ when, delta, hold_ms }: NonNullable<Election['preempt']>): string {
  if (when === 'never') return 'only when it goes (preempt never)'
  return `by one better${delta && delta > 1 ? ` by ${delta}` : ''} for ${span(hold_ms ?? 0)} (preempt ${cut(when, 12)})`
}

// ---------- terms ----------

function Terms({ e }: { e: Election }) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const terms = merged(e.terms)
  const end = now()
  const start = terms[0]?.from_ms ?? end - 60_000
  const changes = terms.length - 1
  const gaps = terms.slice(1).map((t, i) => vacancy(e, terms[i], t))
  const without = gaps.reduce((a, b) => a + b, 0)
  const lanes = [...new Set(terms.map((t) => t.id).reverse())].slice(0, 8)
  const left = Math.min(120, width * 0.25)
  const reach = Math.max(60_000, end - start)
  const x = (at: number) => left + ((width - left - 8) * (at - (end - reach))) / reach
  const y = (id: string) => 18 + lanes.indexOf(id) * 34
  const height = lanes.length * 34 + 34
  return (
    <Card class="c7" title={`Terms, last ${span(reach)}`} right={`${plural(terms.length, 'term')} · ${changes > 0 ? plural(changes, 'change') : 'no change'}${without > 0 ? ` · ${span(without, true)} without a leader` : ''}`}>
      <div ref={ref} class="terms">
        {width > 0 && terms.length > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Terms: ${terms.slice(-6).map((t) => `${nameOf(t.id, t.name)} from ${clock(t.from_ms, false)}`).join(', ')}`}>
            {lanes.map((id) => {
              const any = terms.find((t) => t.id === id)!
              return (
                <g key={id}>
                  <text x={0} y={y(id) + 4} class="lane">{cut(nameOf(id, any.name), 14)}</text>
                  <line x1={left} x2={width} y1={y(id) + 17} y2={y(id) + 17} class="grid-solid" />
                </g>
              )
            })}
            {terms.map((t, i) => {
              if (!lanes.includes(t.id)) return null
              const [a, b] = [Math.max(left, x(t.from_ms)), x(t.until_ms ?? end)]
              const w = Math.max(3, b - a)
              const next = terms[i + 1]
              return (
                <g key={t.token}>
                  <rect x={a} y={y(t.id) - 11} width={w} height={22} rx={Math.min(5, w / 2)} class={`bar leader ${t.until_ms === null ? 'open' : ''}`} />
                  {w > 58 && <text x={a + 8} y={y(t.id) + 4.5} class="in leader">{t.partly ? '≥ ' : ''}{span((t.until_ms ?? end) - t.from_ms)}</text>}
                  {next && lanes.includes(next.id) && <path d={`M${b} ${y(t.id)}V${y(next.id)}`} class={`hop ${t.ended === 'failed' || t.ended === 'silent' ? 'bad' : ''}`} />}
                </g>
              )
            })}
            <text x={left} y={height - 2} class="axis">{span(reach)} ago</text>
            <text x={width} y={height - 2} text-anchor="end" class="axis">now</text>
          </svg>
        )}
        {terms.length === 0 && <p class="t3 idle">No leader was seen since this agent runs.</p>}
      </div>
      {terms.length > 1 && (
        <p class="xs t3">Last change: {nameOf(terms.at(-2)!.id, terms.at(-2)!.name)}, {ended(terms.at(-2)!.ended)}; {span(gaps.at(-1) ?? 0, true)} vacant, from the first sign. Dotted red: the leader failed or fell silent.</p>
      )}
    </Card>
  )
}

/** Terms of one leader that follow each other, as one. */
function merged(terms: Term[]): Term[] {
  const out: Term[] = []
  for (const t of terms) {
    const last = out.at(-1)
    if (last && last.id === t.id && last.ended === 'renewed') out[out.length - 1] = { ...t, from_ms: last.from_ms, partly: last.partly }
    else out.push(t)
  }
  return out
}

// ---------- why this one ----------

interface Column {
  key: string
  title: string
  sub: string
  show: (c: Candidate) => preact.ComponentChildren
}

function columns(e: Election): Column[] {
  const cols: Column[] = [
    { key: 'newcomer', title: 'Here a while', sub: 'newcomers last', show: (c) => (c.settled ? 'yes' : 'not yet') },
    { key: 'class', title: 'Class', sub: 'lower first', show: (c) => c.class },
  ]
  for (const word of e.score) {
    if (word === 'reliability') cols.push({ key: word, title: 'Reliability', sub: 'as this agent finds', show: (c) => <><Rank bucket={c.reliability} /> {c.reliability}</> })
    if (word === 'attribute') cols.push({ key: word, title: 'Attribute', sub: 'lower first', show: (c) => c.attribute })
    if (word === 'centrality') cols.push({ key: word, title: 'Centrality', sub: '0 is the middle', show: (c) => c.centrality })
  }
  const ahead = e.candidates.filter((c) => c.compared === 'better' && c.by === 'hash').length
  cols.push({ key: 'hash', title: 'Hash', sub: 'breaks ties', show: (c) => (c.compared === 'leads' ? (ahead ? `after ${ahead}` : 'first') : c.compared === 'better' ? 'before' : 'after') })
  return cols
}

const LOSES: Record<string, string> = {
  newcomer: 'newcomer',
  class: 'higher class',
  attribute: 'higher attribute',
  centrality: 'farther from the middle',
  reliability: 'fails more often',
  hash: 'equal; the hash decides',
}

function Sieve({ e }: { e: Election }) {
  const cols = columns(e)
  const rows = [...e.candidates].sort((a, b) => Number(b.compared === 'leads') - Number(a.compared === 'leads')).slice(0, 30)
  const leader = rows.find((c) => c.compared === 'leads')
  const decided = Math.max(0, ...rows.filter((c) => c.by).map((c) => cols.findIndex((k) => k.key === c.by)))
  return (
    <Card class="c12" title={leader ? `Why ${nameOf(leader.id, leader.name)}?` : 'Who stands'} right="Read left to right: each line runs until the candidate loses to the leader." pad={false}>
      <div class="ov-x">
        <table class="sieve">
          <thead>
            <tr>
              <th>Candidate</th>
              {cols.map((k) => <th key={k.key} class="mid"><b>{k.title}</b>{k.sub}</th>)}
              <th>Against the leader</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((c) => {
              const wins = c.compared === 'leads'
              const stop = wins ? cols.length : c.by ? cols.findIndex((k) => k.key === c.by) : -1
              return (
                <tr key={c.id} class={wins ? 'win' : ''}>
                  <td class="nw">{wins ? <Icon id="crown" tone="leader" title="leads" /> : <StateOf id={c.id} />} <Who id={c.id} name={c.name} bold={wins} /></td>
                  {cols.map((k, i) => {
                    const unused = k.key === 'hash' && (wins ? decided < cols.length - 1 : stop !== i)
                    const kind = i === stop && !wins ? 'stop' : i > stop && !wins ? 'na' : ''
                    return <td key={k.key} class={`cell ${kind}`}><span class="pill">{unused ? (wins ? 'not needed' : '–') : k.show(c)}</span></td>
                  })}
                  <td class={`nw ${wins ? 'leader' : 't2'}`}>{wins ? 'leads' : c.compared === 'better' ? `better by ${c.by}: ${e.preempt && e.preempt.when !== 'never' ? 'takes over if it stays so' : 'leaders stay until they go'}` : c.by ? LOSES[c.by] ?? c.by : '–'}{c.suspect ? ', suspected' : ''}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      {e.candidates.length > rows.length && <p class="t3 idle pad">{e.candidates.length - rows.length} more stand.</p>}
      {rows.length === 0 && <p class="t3 idle pad">Nobody stands in it.</p>}
    </Card>
  )
}

// ---------- how sure ----------

function Certainty({ e }: { e: Election }) {
  const c = e.churn
  if (!c) return null
  const lists = Math.max(1, c.known)
  const shown = Math.min(lists, 32)
  const read = Math.round((Math.min(c.quorum, lists) * shown) / lists)
  const hedge = Math.min(shown - read, Math.round((c.hedge * shown) / lists))
  return (
    <Card class="c6" title="How sure is it the best?" right={`chance to have missed a better one: ${chance(c.miss_chance)}`}>
      <p class="t2">
        The next election reads <b class="t1">{Math.min(c.quorum, lists)} of {plural(lists, 'list')}</b>. {(c.missing_rate * 100).toFixed(1)} % of lists are expected to lack a good candidate, by the last {plural(Math.round(c.trials), 'look')}.
      </p>
      <div class="boxes" role="img" aria-label={`${c.quorum} lists read, ${c.hedge} asked besides`}>
        {Array.from({ length: shown }, (_, i) => <i key={i} class={i < read ? 'on' : i < read + hedge ? 'hedge' : ''} />)}
      </div>
      <p class="xs t3">{Math.min(c.quorum, lists)} read · {c.hedge} asked besides, in case one is silent · {(c.silent_per_mille / 10).toFixed(1)} % of those asked were silent</p>
    </Card>
  )
}

function chance(p: number): string {
  if (p <= 0) return 'none'
  if (p < 1e-9) return 'below 1 in a billion'
  return p >= 0.01 ? `${(p * 100).toFixed(0)} %` : `1 in ${Math.round(1 / p).toLocaleString('en')}`
}

function Next({ e }: { e: Election }) {
  const heirs = e.candidates.filter((c) => c.compared !== 'leads' && statusOf(c.id) === 'alive').slice(0, 3)
  const leader = e.leader ? nameOf(e.leader.id, e.leader.name) : 'the leader'
  return (
    <Card class="c6" title={`If ${leader} goes`}>
      {heirs.length === 0 && <p class="t3 idle">Nobody else stands: the election would be vacant.</p>}
      <ol class="rows">
        {heirs.map((c, i) => (
          <li key={c.id} class="heir">
            <span class="t3">{i + 1}</span><Who id={c.id} name={c.name} />
            <span class="t3 sm num">{[`class ${c.class}`, ...e.score.map((s) => `${s} ${c[s as 'attribute']}`)].join(', ')}</span>
          </li>
        ))}
      </ol>
      {heirs.length > 0 && <p class="xs t3">As this agent ranks them now; the election asks other lists too.</p>}
    </Card>
  )
}
