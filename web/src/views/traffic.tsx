// What is sent and received, and what is dropped: by this node, and by the group as its members tell it.

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { ageOf, agreement, label, rateOf } from '../derive'
import { bytes, calm, clock, count, cut, list, plural, span } from '../format'
import { state, useStore } from '../store'
import { Card, Page, Shell, StateOf, Unit, useWidth, Who } from '../ui/bits'
import { Icon } from '../ui/icons'
import type { Counters, Sample, Summary } from '../types'

export function Traffic() {
  useStore()
  const s = state.samples
  const self = state.self ? label(state.self) : 'this node'
  const [first, last] = [s[0], s.at(-1)]
  const seconds = first && last ? (last.at_ms - first.at_ms) / 1000 : 0
  const rate = (key: keyof Sample) => (seconds > 0 ? (last![key] - first![key]) / seconds : null)
  const bytesRate = rate('bytes_out')
  const grams = rate('datagrams_out')
  const stats = state.stats
  const probes = num(stats, 'membership.probes')
  const failed = num(stats, 'membership.probes_failed')
  const wrong = state.events.filter((e) => e.event === 'up' && e.reason === 'refuted').length
  const suspected = state.events.filter((e) => e.event === 'suspected').length
  return (
    <Page title="Traffic" sub={<>Of <bdi>{self}</bdi>, and below of the group as its members tell it.</>}>
      <dl class="card kf four">
        <div><dt>Sent</dt><dd class="v">{bytesRate === null ? '–' : <Unit text={bytes(bytesRate)} after="/s" />}</dd><dd class="s">{stats ? `${bytes(num(stats, 'bytes_out'))} since start` : ''}</dd></div>
        <div><dt>Datagrams sent</dt><dd class="v">{grams === null ? '–' : <Unit text={grams.toFixed(1)} after=" a second" />}</dd><dd class="s">{stats ? `${count(num(stats, 'datagrams_out'))} out, ${count(num(stats, 'datagrams_in'))} accepted` : ''}</dd></div>
        <div><dt>Probes</dt><dd class="v">{count(probes)}</dd><dd class="s">{failed ? `${plural(failed, 'was', 'were')} not answered` : 'all answered'}</dd></div>
        <div><dt>Wrong suspicions</dt><dd class="v">{wrong} <small>of {suspected}</small></dd><dd class="s">the suspect answered for itself</dd></div>
      </dl>
      <div class="grid">
        <Card class="c6" title="Bytes a second"><Plot samples={s} keys={['bytes_out', 'bytes_in']} format={bytes} /></Card>
        <Card class="c6" title="Datagrams a second"><Plot samples={s} keys={['datagrams_out', 'datagrams_in']} format={(x) => x.toFixed(1)} /></Card>
        <Group />
        <Card class="c6" title="Dropped and refused, by reason" pad={false}><Drops stats={stats} /></Card>
        <Card class="c6" title="What was done" pad={false}><Work stats={stats} /></Card>
      </div>
      <Shell command={`curl ${location.origin}/v1/stats`} />
      <Shell command={`curl ${location.origin}/v1/summaries`} />
    </Page>
  )
}

// ---------- the group ----------

/** Rows that the table of the group shows at most. */
const GROUP_ROWS = 100

const REASONS: Record<string, string> = {
  silent: 'did not answer in time',
  unknown: 'runs a version that gives no summaries',
  not_asked: 'not asked yet',
}

function Group() {
  const answer = state.summaries
  if (!answer) return <Card class="c12" title="The group"><p class="t3 idle">The members are being asked.</p></Card>
  const own = answer.summaries.find((s) => s.id === state.self?.id)
  const differ = new Set(agreement()?.differ ?? [])
  const versions = new Set(answer.summaries.map((s) => s.version))
  const sum = (of: (s: Summary) => number) => answer.summaries.reduce((n, s) => n + of(s), 0)
  const rows = [...answer.summaries].sort((a, b) => Number(differ.has(label(b))) - Number(differ.has(label(a))) || rateOf(b, 'bytes_out') - rateOf(a, 'bytes_out'))
  const oldest = Math.max(0, ...answer.summaries.map(ageOf))
  const rate = (s: Summary, key: 'bytes_in' | 'bytes_out') => `${bytes(rateOf(s, key))}/s`
  return (
    <Card class="c12 group" title="The group" pad={false} right={`${plural(answer.summaries.length, 'member')} answered${answer.missing.length ? `, ${answer.missing.length} did not` : ''} · ${oldest < 8000 ? 'just now' : `up to ${calm(oldest)} ago`}`}>
      <div class="ov-x">
        <table>
          <thead>
            <tr><th>Member</th><th class="hm">Version</th><th>Lists</th><th class="num">Sent</th><th class="num hm">Received</th><th class="num hm">Datagrams</th><th class="num">Dropped</th><th class="num hm">Probes unanswered</th><th class="num" title="Suspicions of this member that it refuted">Wrongly suspected</th></tr>
          </thead>
          <tbody>
            {rows.length > 1 && (
              <tr class="total">
                <td>All {rows.length}</td>
                <td class="hm">{versions.size === 1 ? rows[0].version : plural(versions.size, 'version')}</td>
                <td>{differ.size ? <span class="suspect">{differ.size} differ</span> : 'agree'}</td>
                <td class="num nw">{bytes(sum((s) => rateOf(s, 'bytes_out')))}/s</td>
                <td class="num nw hm">{bytes(sum((s) => rateOf(s, 'bytes_in')))}/s</td>
                <td class="num nw hm">{sum((s) => rateOf(s, 'datagrams_out')).toFixed(1)}/s</td>
                <td class="num">{count(sum((s) => s.dropped))}</td>
                <td class="num hm">{count(sum((s) => s.probes_failed))} <span class="t3">of {count(sum((s) => s.probes))}</span></td>
                <td class="num">{count(sum((s) => s.refutations))}</td>
              </tr>
            )}
            {rows.slice(0, GROUP_ROWS).map((s) => {
              const behind = differ.has(label(s))
              return (
                <tr key={s.id}>
                  <td class="nw"><StateOf id={s.id} /> <Who id={s.id} name={s.name} bold={s.id === own?.id} /></td>
                  <td class={`hm nw ${versions.size > 1 ? '' : 't3'}`}>{cut(s.version, 16)}</td>
                  <td class="nw">{behind ? <span class="suspect"><Icon id="suspect" tone="suspect" /> {s.members}, others</span> : <span class="t2">{s.members}</span>}</td>
                  <td class="num nw">{rate(s, 'bytes_out')}</td>
                  <td class="num nw hm">{rate(s, 'bytes_in')}</td>
                  <td class="num nw hm">{rateOf(s, 'datagrams_out').toFixed(1)}/s</td>
                  <td class={`num ${s.dropped ? '' : 't3'}`}>{count(s.dropped)}</td>
                  <td class="num hm">{count(s.probes_failed)} <span class="t3">of {count(s.probes)}</span></td>
                  <td class={`num ${s.refutations ? '' : 't3'}`}>{count(s.refutations)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      {rows.length > GROUP_ROWS && <p class="t3 idle pad">{rows.length - GROUP_ROWS} more answered.</p>}
      {answer.missing.length > 0 && <Missing missing={answer.missing} />}
      <p class="xs t3 pad">Rates since the answer before, other numbers since each member’s start. At most {answer.asked_max} members are asked at a time.</p>
    </Card>
  )
}

function Missing({ missing }: { missing: { name: string; id: string; reason: string }[] }) {
  const reasons = [...new Set(missing.map((m) => m.reason))]
  return (
    <ul class="pad missing">
      {reasons.map((reason) => (
        <li key={reason}><Icon id="suspect" tone={reason === 'not_asked' ? 'left' : 'suspect'} /> <bdi>{list(missing.filter((m) => m.reason === reason).map((m) => label(m)))}</bdi>: {REASONS[reason] ?? cut(reason)}</li>
      ))}
    </ul>
  )
}

// ---------- this node ----------

function num(stats: Counters | null, path: string): number {
  let at: number | Counters | undefined = stats ?? undefined
  for (const key of path.split('.')) at = typeof at === 'object' ? at[key] : undefined
  return typeof at === 'number' ? at : 0
}

const DROPS: [string, string][] = [
  ['datagrams_malformed', 'datagrams torn, too short, or of another version'],
  ['datagrams_foreign', 'datagrams of another group'],
  ['datagrams_own_id', 'datagrams that carry this node’s own id'],
  ['frames_unreadable', 'frames this version cannot read'],
  ['messages_undeliverable', 'messages to members without a known address'],
  ['seal.key_unknown', 'datagrams under a key that this node does not have'],
  ['seal.tag_failed', 'datagrams altered on the way, or under another key'],
  ['seal.unsealed', 'datagrams without encryption, in a group with a key'],
  ['seal.clones_seen', 'datagrams of a copy of this very process'],
  ['seal.unsealable', 'datagrams not sent: nothing could be sealed'],
  ['seal.replayed', 'datagrams seen before, or too old to tell'],
  ['seal.unproven', 'datagrams whose sender had to prove its address first'],
  ['seal.undirected', 'messages that do not count where any member can read them'],
  ['seal.unpaired', 'messages that do not count where any member could have made them'],
  ['seal.certs_unknown', 'datagrams of senders whose certificate is not known yet'],
  ['seal.certs_refused', 'certificates that do not hold'],
  ['seal.revoked', 'sessions that ended, because the certificate was revoked'],
  ['seal.roles_refused', 'messages that ask for more than a certificate allows'],
  ['seal.echoes_bad', 'answers to challenges that this node did not make'],
  ['seal.rate_dropped_members', 'datagrams of members: more than are looked at in a second'],
  ['seal.rate_dropped_known', 'datagrams in the name of members: more than are looked at'],
  ['seal.rate_dropped_strangers', 'datagrams of strangers: more than are looked at'],
  ['seal.datagrams_oversize', 'datagrams larger than any of this group'],
  ['seal.datagrams_overfull', 'datagrams with more frames than are read'],
  ['seal.requests_dropped', 'requests for lists: one of each kind in a datagram is served'],
  ['seal.rings_refused', 'lists of keys that this node does not take'],
  ['seal.answers_cut', 'messages cut from an answer that was too long'],
  ['membership.members_dropped', 'members ignored: the list is full'],
  ['membership.relays_dropped', 'requests to probe: too many under way'],
  ['membership.seeds_dropped', 'seeds: enough are known'],
  ['membership.naps_refused', 'naps longer than allowed'],
  ['membership.meta_refused', 'names or tags that are not allowed'],
  ['membership.accusations_unknown', 'accusations of unknown nodes'],
  ['membership.numbers_refused', 'lives and incarnations that nobody can have reached'],
  ['membership.lives_exhausted', 'lives that do not exist: the range is used up'],
  ['membership.told_refused', 'nodes told of by one member: too many in a minute'],
  ['membership.goodbyes_doubted', 'goodbyes in a life that this node does not know'],
  ['election.stale', 'claims older than the one held'],
  ['election.answers_stale', 'answers to earlier questions'],
  ['election.dropped', 'elections beyond the limit'],
  ['mutex.replies_stale', 'answers about finished lock requests'],
  ['mutex.requests_refused', 'lock requests beyond the limit'],
  ['mutex.clocks_refused', 'lock clocks too far ahead'],
  ['mutex.exhausted', 'lock tokens that were not issued: the range is used up'],
  ['message.refused', 'own messages that were too long or too many'],
  ['message.malformed', 'messages of applications that are not well-formed'],
  ['message.stale', 'messages of applications that came too late'],
  ['message.origins_dropped', 'messages of more senders than are told apart'],
  ['message.evicted', 'messages no longer passed on: too many others were'],
  ['message.queries_dropped', 'queries declined: too many under way'],
  ['omega.hellos_dropped', 'hellos: too many neighbours, or old ones'],
  ['omega.neighbours_unnamed', 'neighbours not named: the record is full'],
  ['omega.records_dropped', 'records of links of more nodes than are kept'],
  ['omega.records_malformed', 'records of links that no node writes'],
  ['omega.claims_refused', 'claims to lead that nobody can have reached'],
  ['omega.ignored', 'messages about links while none are looked for'],
  ['driver.receive_errors', 'reads that failed'],
  ['driver.send_errors', 'datagrams that could not be sent'],
  ['driver.interface_errors', 'interfaces that could not be used'],
  ['driver.lost_by_order', 'datagrams lost by order of the lab'],
  ['driver.store_errors', 'facts that could not be stored'],
]

/** Names of counters that tell of drops, for those that a later version counts. */
const DROPPISH = /dropped|refused|malformed|foreign|unreadable|ignored|stale|errors|evicted|undeliverable/

/** Counters of drops that are not in the table, by their own names. */
function others(stats: Counters | null, path = ''): [string, string][] {
  return Object.entries(stats ?? {}).flatMap(([key, value]): [string, string][] => {
    const name = path + key
    if (typeof value === 'object') return others(value, `${name}.`)
    return DROPPISH.test(key) && !DROPS.some(([known]) => known === name) ? [[name, name]] : []
  })
}

const WORK: [string, string][] = [
  ['membership.probes', 'probes'],
  ['membership.probes_indirect', 'probes that needed helpers'],
  ['membership.probes_failed', 'probes that nobody answered'],
  ['membership.accusations', 'accusations made'],
  ['membership.refutations', 'accusations of this node, refuted'],
  ['membership.isolations', 'times it heard nobody'],
  ['membership.pauses', 'times this process did not run for two periods'],
  ['membership.syncs', 'comparisons of member lists'],
  ['election.elections', 'elections held'],
  ['mutex.grants', 'locks granted to this node'],
  ['mutex.hand_overs', 'of them handed over inside it'],
  ['mutex.losses', 'locks lost'],
]

function Rows({ stats, rows, empty }: { stats: Counters | null; rows: [string, string][]; empty: string }) {
  const shown = rows.map(([key, text]) => ({ key, text, n: num(stats, key) })).filter((r) => r.n > 0)
  if (!shown.length) return <p class="t3 idle pad">{empty}</p>
  return (
    <table>
      <tbody>
        {shown.map((r) => <tr key={r.key}><td>{r.text}</td><td class="num" title={String(r.n)}>{count(r.n)}</td></tr>)}
      </tbody>
    </table>
  )
}

function Drops({ stats }: { stats: Counters | null }) {
  return <Rows stats={stats} rows={[...DROPS, ...others(stats)]} empty={stats ? 'Nothing was dropped since the start.' : 'Not known yet.'} />
}

function Work({ stats }: { stats: Counters | null }) {
  return <Rows stats={stats} rows={WORK} empty="Nothing yet." />
}

function Plot({ samples, keys, format }: { samples: Sample[]; keys: [keyof Sample, keyof Sample]; format: (x: number) => string }) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const plot = useRef<uPlot | null>(null)
  const data = rates(samples, keys)
  // One point is no line, and its axis no span.
  const ready = data[0].length > 1
  useEffect(() => {
    if (!ref.current || !width || !ready) return
    const make = () => {
      plot.current?.destroy()
      const css = getComputedStyle(document.documentElement)
      const color = (name: string) => css.getPropertyValue(name).trim()
      const axis = { stroke: color('--text3'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false }, font: `12px ${color('--sans')}` }
      plot.current = new uPlot(
        {
          width,
          height: 210,
          cursor: { y: false },
          legend: { live: true },
          scales: { y: { range: (_u, _min, max) => [0, Math.max(max * 1.15, 1)] } },
          series: [
            { label: 'at', value: (_u, v) => (v == null ? '–' : clock(v * 1000, false)) },
            { label: 'sent', stroke: color('--accent'), width: 2, points: { show: false }, value: (_u, v) => (v == null ? '–' : format(v)) },
            { label: 'received', stroke: color('--alive'), width: 2, dash: [5, 4], points: { show: false }, value: (_u, v) => (v == null ? '–' : format(v)) },
          ],
          axes: [{ ...axis, space: 90, size: 34, values: (_u, at) => at.map((s) => clock(s * 1000, false)) }, { ...axis, size: 56, values: (_u, ticks) => ticks.map(format) }],
        },
        data,
        ref.current!,
      )
    }
    make()
    window.addEventListener('themechange', make)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', make)
    return () => {
      window.removeEventListener('themechange', make)
      scheme.removeEventListener('change', make)
      plot.current?.destroy()
      plot.current = null
    }
  }, [width, ready])
  // The latest values, while the pointer chooses no others.
  useEffect(() => {
    plot.current?.setData(data)
    // After it has drawn, which clears the legend.
    const frame = requestAnimationFrame(() => {
      if (plot.current && plot.current.cursor.idx == null) plot.current.setLegend({ idx: data[0].length - 1 })
    })
    return () => cancelAnimationFrame(frame)
  }, [samples, width, ready])
  return (
    <>
      <div ref={ref} class={ready ? 'plot' : 'plot empty'} role="img" aria-label={`${String(keys[0])} and ${String(keys[1])} over the last ${samples.length ? span(samples.at(-1)!.at_ms - samples[0].at_ms) : 'minutes'}`} />
      {!ready && <p class="t3 idle">The first rates come in a few seconds.</p>}
    </>
  )
}

function rates(samples: Sample[], keys: [keyof Sample, keyof Sample]): uPlot.AlignedData {
  const x: number[] = []
  const series: number[][] = [[], []]
  for (let i = 1; i < samples.length; i++) {
    const [a, b] = [samples[i - 1], samples[i]]
    const s = (b.at_ms - a.at_ms) / 1000
    if (s <= 0) continue
    x.push(b.at_ms / 1000)
    keys.forEach((key, k) => series[k].push(Math.max(0, b[key] - a[key]) / s))
  }
  return [x, ...series] as uPlot.AlignedData
}
