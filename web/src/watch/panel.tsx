// Beside the map: figures, the chosen node, what happened, and all nodes as a table.

import { useState } from 'preact/hooks'
import { count, list, plural } from '../format'
import { Seg } from '../ui/seg'
import { Icon } from '../ui/icons'
import { clockText } from './player'
import type { Reel, Show } from './show'
import { nodeName, upTo } from './story'
import { CRASHED, FAILED, HOLDS, LEFT, PAUSED, State, SUSPECT, UP, WAITS } from './tape'
import { components, wrongly } from './words'

const ROWS = 40

export function Panel({ show }: { show: Show }) {
  const [tab, setTab] = useState<'events' | 'nodes' | 'legend'>('events')
  const states = show.states()
  if (!show.ready || states.some((s) => !s)) return <aside class="panel"><p class="t3">{show.error ? 'Nothing to show.' : 'Waiting for the simulation…'}</p></aside>
  return (
    <aside class="panel" aria-label="Details">
      <Figures show={show} states={states as State[]} />
      {show.selected !== null && <Chosen show={show} states={states as State[]} node={show.selected} />}
      <div class="fold">
        <Seg label="Details" options={[['events', 'Events'], ['nodes', 'Nodes'], ['legend', 'Legend']] as const} value={tab} set={setTab} />
      </div>
      {tab === 'events' && <Events show={show} />}
      {tab === 'nodes' && <Nodes show={show} states={states as State[]} />}
      {tab === 'legend' && <Legend show={show} />}
    </aside>
  )
}

function Figures({ show, states }: { show: Show; states: State[] }) {
  const header = show.reels[0].tape.header!
  const rows: [string, (reel: Reel, state: State) => string | number][] = [
    ['Nodes that run', (_, s) => s.running()],
  ]
  const sum = (numbers: Int32Array) => numbers.reduce((a, b) => a + b, 0)
  if (header.moving) rows.push(['Components', (_, s) => components(s)], ['Follow another than the best', (_, s) => wrongly(s)])
  else if (show.doubtful) rows.push(['Suspicions held', (_, s) => count(sum(s.suspects))], ['Verdicts held', (_, s) => count(sum(s.verdicts))])
  if (!header.moving && header.elections.length === 1) rows.push(['Follow a leader', (_, s) => s.follows[0].reduce((n, l) => n + Number(l >= 0), 0)])
  if (header.locks.length) {
    const wait = (s: State) => s.locks.reduce((n, lock) => n + [...lock.values()].filter((is) => is === WAITS).length, 0)
    rows.push(['Wait for a lock', (_, s) => wait(s)], ['Times a lock was granted', (r) => r.story.items.slice(0, upTo(r.story.items, show.now)).filter((i) => i.icon === 'key').length])
  }
  rows.push(['Datagrams a second', (r) => count(rate(r, show.now))])
  return (
    <table class="figures">
      <caption class="sr">Figures at {clockText(show.now)}</caption>
      <thead class={show.reels.length > 1 ? '' : 'sr'}><tr><th scope="col"></th>{show.short.map((t, n) => <th key={n} scope="col" class="num">{t}</th>)}</tr></thead>
      <tbody>{rows.map(([name, of]) => <tr key={name}><th scope="row">{name}</th>{show.reels.map((r, n) => <td key={n} class="num"><b>{of(r, states[n])}</b></td>)}</tr>)}</tbody>
    </table>
  )
}

/** Over the last two seconds. */
function rate(reel: Reel, now: number): number {
  const at = Math.floor(now / 500_000)
  const last = reel.story.traffic.slice(Math.max(0, at - 4), Math.max(1, at))
  return last.length ? (last.reduce((a, b) => a + b, 0) / last.length) * 2 : 0
}

const STATES = { [UP]: ['alive', 'runs'], [PAUSED]: ['paused', 'stands still'], [CRASHED]: ['crash', 'crashed'], [LEFT]: ['left', 'left'] } as Record<number, [string, string]>

function Chosen({ show, states, node }: { show: Show; states: State[]; node: number }) {
  return (
    <div class="fold chosen" data-chosen={node}>
      <h2><Icon id={STATES[states[0].hosts[node]]?.[0] ?? 'dot'} tone={STATES[states[0].hosts[node]]?.[0]} /> {nodeName(node)} <button type="button" class="btn sm" onClick={() => show.select(null)}>Close</button></h2>
      {states.map((state, n) => node < state.n && (
        <dl key={n} class="kv">
          {show.reels.length > 1 && <><dt>In</dt><dd><b>{show.short[n]}</b></dd></>}
          <dt>State</dt><dd>{STATES[state.hosts[node]]?.[1]}{impairment(state, node)}</dd>
          {!show.reels[n].tape.header!.moving && show.doubtful && <><dt>Suspected by</dt><dd>{names(state, (o) => state.hosts[o] === UP && state.opinion(node, o) === SUSPECT)}</dd>
          <dt>Held failed by</dt><dd>{names(state, (o) => state.hosts[o] === UP && state.opinion(node, o) === FAILED)}</dd>
          <dt>It suspects</dt><dd>{names(state, (s) => state.opinion(s, node) === SUSPECT)}</dd>
          <dt>It holds failed</dt><dd>{names(state, (s) => state.opinion(s, node) === FAILED)}</dd></>}
          {show.reels[n].tape.header!.elections.map((name, e) => <><dt>{show.reels[n].tape.header!.moving ? 'Leader' : `Election ${name}`}</dt><dd>{leader(state, e, node)}</dd></>)}
          {show.reels[n].tape.header!.locks.map((name, l) => <><dt>Lock {name}</dt><dd>{['–', 'waits', 'holds'][state.locks[l].get(node) ?? 0]}</dd></>)}
        </dl>
      ))}
    </div>
  )
}

function impairment(state: State, node: number): string {
  const how = state.impaired.get(node)
  return how ? `, ${how === 1 ? 'hears nothing' : how === 2 ? 'is not heard' : 'loses datagrams'}` : ''
}

function names(state: State, test: (n: number) => boolean): string {
  const all = []
  for (let n = 0; n < state.n; n++) if (test(n)) all.push(String(n))
  return all.length ? list(all, 6) : '–'
}

function leader(state: State, e: number, node: number): string {
  if (state.acts[e].has(node)) return 'leads'
  const to = state.follows[e][node]
  if (to < 0) return 'follows nobody'
  const best = state.ought[node]
  return `follows ${nodeName(to)}${best >= 0 && best !== to ? `; ${nodeName(best)} would be the best` : ''}`
}

function Events({ show }: { show: Show }) {
  const all = show.reels.flatMap((reel, n) => {
    const { items } = reel.story
    const end = upTo(items, show.now)
    return items.slice(Math.max(0, end - ROWS), end).map((item) => ({ item, n }))
  })
  all.sort((a, b) => b.item.at - a.item.at)
  const left = show.reels.reduce((sum, r) => sum + r.story.leftOut, 0)
  const flags = show.reels.reduce((all, r) => all | r.tape.flags, 0)
  const outcome = show.now >= show.end ? show.reels.map((r) => r.tape.outcome).filter(Boolean).join(' · ') : ''
  return (
    <div class="fold">
      {outcome && <p class="sm outcome"><b>End:</b> {outcome}</p>}
      {!all.length && <p class="t3 sm">Nothing has happened yet. Next event: <kbd>.</kbd></p>}
      <ol class="happened">
        {all.slice(0, ROWS).map(({ item, n }, i) => (
          <li key={`${item.at}-${n}-${i}`}>
            <button type="button" onClick={() => { show.seek(item.at); if (item.node !== null) show.select(item.node) }}>
              <span class="mono t3">{clockText(item.at)}</span>
              <Icon id={item.icon} tone={item.tone} />
              <span>{show.reels.length > 1 && <b>{show.short[n]}: </b>}{item.text}</span>
            </button>
          </li>
        ))}
      </ol>
      {left > 0 && <p class="t3 xs">{count(left)} more are not listed.</p>}
      {(flags & 1) > 0 && <p class="t3 xs">The recording was full: towards its end it has no datagrams.</p>}
      {(flags & 2) > 0 && <p class="t3 xs">The recording was full before the simulation ended.</p>}
    </div>
  )
}

function Nodes({ show, states }: { show: Show; states: State[] }) {
  const state = states[0]
  const order = [...Array(state.n).keys()].sort((a, b) => weight(state, b) - weight(state, a) || a - b)
  const [shown, setShown] = useState(100)
  const header = show.reels[0].tape.header!
  return (
    <div class="fold">
      <table class="nodes">
        <caption class="t3 xs">{show.reels.length > 1 ? `Of ${show.titles[0]}. ` : ''}{show.doubtful ? 'How many of the others suspect it or hold it failed' : ''}</caption>
        <thead><tr><th>Node</th>{show.doubtful && <><th class="num">Suspect</th><th class="num">Failed</th></>}{header.elections.length > 0 && <th>Follows</th>}{header.locks.length > 0 && <th>Locks</th>}</tr></thead>
        <tbody>
          {order.slice(0, shown).map((n) => (
            <tr key={n} class={n === show.selected ? 'sel' : ''}>
              <td><button type="button" class="plainbtn" onClick={() => show.select(n)}><Icon id={STATES[state.hosts[n]]?.[0] ?? 'dot'} tone={STATES[state.hosts[n]]?.[0]} title={STATES[state.hosts[n]]?.[1]} /> {n}</button></td>
              {show.doubtful && <><td class="num">{state.suspects[n] || '–'}</td><td class="num">{state.verdicts[n] || '–'}</td></>}
              {header.elections.length > 0 && <td>{state.follows.map((f, e) => (state.acts[e].has(n) ? 'leads' : f[n] < 0 ? '–' : f[n])).join(', ')}</td>}
              {header.locks.length > 0 && <td>{header.locks.filter((_, l) => state.locks[l].has(n)).map((name) => `${state.locks[header.locks.indexOf(name)].get(n) === HOLDS ? 'holds' : 'waits'} ${name}`).join(', ') || '–'}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {shown < state.n && <button type="button" class="btn" onClick={() => setShown(shown + 400)}>{plural(state.n - shown, 'more node')}</button>}
    </div>
  )
}

function weight(state: State, n: number): number {
  return Number(state.hosts[n] !== UP) * 1e6 + state.verdicts[n] * 1e3 + state.suspects[n]
}

function Legend({ show }: { show: Show }) {
  const header = show.reels[0].tape.header!
  const rows: [string, string, string][] = [
    ['alive', 'alive', 'The node runs'],
    ['crash', 'crash', 'It crashed'],
    ...(show.doubtful ? [['failed', 'failed', 'It crashed, and all others hold it failed'] as [string, string, string]] : []),
    ['paused', 'deed', 'Its process stands still'],
    ['left', 'left', 'It left the group'],
  ]
  if (header.elections.length) rows.push(['crown', 'leader', header.moving ? 'It takes itself for the leader; lines lead to the leader that a node follows, dashed where another would be the best' : 'It acts as the leader; lines lead to the leader that a node follows'])
  if (header.locks.length) rows.push(['key', 'lock', 'It holds a lock; a dotted ring waits for one'])
  return (
    <div class="fold legendlist">
      <ul>
        {rows.map(([icon, tone, text]) => <li key={icon}><Icon id={icon} tone={tone} /> {text}</li>)}
        {show.doubtful && <li><i class="key-arc" /> Around a node: the share of the others that suspect it (amber) or hold it failed (red)</li>}
        {show.doubtful && <li><i class="key-dash" /> A dashed ring: this one suspects the node in question (amber) or holds it failed (red); gone once all hold it failed</li>}
        <li><i class="key-dot" /> A datagram, seen for a third of a second at least; a red cross is where it is lost</li>
      </ul>
      <p class="t3 xs">{show.doubtful && 'The node in question is the chosen one, else the last that something happened to. '}Keys: <kbd>Space</kbd> plays, <kbd>.</kbd> and <kbd>,</kbd> step by events, <kbd>←</kbd> <kbd>→</kbd> by a second, <kbd>+</kbd> <kbd>-</kbd> change the speed, <kbd>Alt</kbd> and arrows walk the map.</p>
    </div>
  )
}
