// What this node sends and receives, and what it drops.

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { label } from '../derive'
import { bytes, clock, count, plural, span } from '../format'
import { state, useStore } from '../store'
import { Card, Page, Shell, useWidth } from '../ui/bits'
import type { Counters, Sample } from '../types'

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
    <Page title="Traffic" sub={<>Of <bdi>{self}</bdi> alone, not of the group.</>}>
      <dl class="card kf four">
        <div><dt>Sent</dt><dd class="v">{bytesRate === null ? '–' : bytes(bytesRate)}<small>/s</small></dd><dd class="s">{stats ? `${bytes(num(stats, 'bytes_out'))} since start` : ''}</dd></div>
        <div><dt>Datagrams sent</dt><dd class="v">{grams === null ? '–' : grams.toFixed(1)}<small>/s</small></dd><dd class="s">{stats ? `${count(num(stats, 'datagrams_out'))} out, ${count(num(stats, 'datagrams_in'))} accepted` : ''}</dd></div>
        <div><dt>Probes</dt><dd class="v">{count(probes)}</dd><dd class="s">{failed ? `${plural(failed, 'was', 'were')} not answered` : 'all answered'}</dd></div>
        <div><dt>Wrong suspicions</dt><dd class="v">{wrong} <small>of {suspected}</small></dd><dd class="s">the suspect answered for itself</dd></div>
      </dl>
      <div class="grid">
        <Card class="c6" title="Bytes a second"><Plot samples={s} keys={['bytes_out', 'bytes_in']} format={bytes} /></Card>
        <Card class="c6" title="Datagrams a second"><Plot samples={s} keys={['datagrams_out', 'datagrams_in']} format={(x) => x.toFixed(1)} /></Card>
        <Card class="c6" title="Dropped and refused, by reason" pad={false}><Drops stats={stats} /></Card>
        <Card class="c6" title="What was done" pad={false}><Work stats={stats} /></Card>
      </div>
      <Shell command={`curl ${location.origin}/v1/stats`} />
    </Page>
  )
}

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
  ['membership.members_dropped', 'members ignored: the list is full'],
  ['membership.relays_dropped', 'requests to probe: too many under way'],
  ['membership.seeds_dropped', 'seeds: enough are known'],
  ['membership.naps_refused', 'naps longer than allowed'],
  ['membership.meta_refused', 'names or tags that are not allowed'],
  ['membership.accusations_unknown', 'accusations of unknown nodes'],
  ['election.stale', 'claims older than the one held'],
  ['election.answers_stale', 'answers to earlier questions'],
  ['election.dropped', 'elections beyond the limit'],
  ['mutex.replies_stale', 'answers about finished lock requests'],
  ['mutex.requests_refused', 'lock requests beyond the limit'],
  ['mutex.clocks_refused', 'lock clocks too far ahead'],
  ['driver.receive_errors', 'reads that failed'],
  ['driver.send_errors', 'datagrams that could not be sent'],
  ['driver.lost_by_order', 'datagrams lost by order of the lab'],
  ['driver.store_errors', 'facts that could not be stored'],
]

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
  return <Rows stats={stats} rows={DROPS} empty="Nothing was dropped since the start." />
}

function Work({ stats }: { stats: Counters | null }) {
  return <Rows stats={stats} rows={WORK} empty="Nothing yet." />
}

function Plot({ samples, keys, format }: { samples: Sample[]; keys: [keyof Sample, keyof Sample]; format: (x: number) => string }) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const plot = useRef<uPlot | null>(null)
  const data = rates(samples, keys)
  useEffect(() => {
    if (!ref.current || !width) return
    const make = () => {
      plot.current?.destroy()
      const css = getComputedStyle(document.documentElement)
      const color = (name: string) => css.getPropertyValue(name).trim()
      const axis = { stroke: color('--text3'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' }
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
  }, [width])
  useEffect(() => plot.current?.setData(data), [samples])
  const last = samples.length > 1
  return (
    <>
      <div ref={ref} class="plot" role="img" aria-label={`${String(keys[0])} and ${String(keys[1])} over the last ${samples.length ? span(samples.at(-1)!.at_ms - samples[0].at_ms) : 'minutes'}`} />
      {!last && <p class="t3 idle">The first rates come in a few seconds.</p>}
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
