// The state of a simulation in words: what is so, and what it means.

import { list, plural, span } from '../format'
import type { Reel } from './show'
import { nodeName, upTo } from './story'
import { CRASHED, HOLDS, PAUSED, State, UP, WAITS } from './tape'

/** The node in question: of those that somebody doubts, the last one that something happened to within a minute. */
export function focusOf(reel: Reel, now: number): number | null {
  const state = reel.tape.stateAt(now)
  const { items } = reel.story
  for (let i = upTo(items, now) - 1; i >= 0 && now - items[i].at < 60e6; i--) {
    const { node, icon } = items[i]
    if (node !== null && /suspect|failed|crash|members/.test(icon) && (!state || state.suspects[node] + state.verdicts[node] > 0)) return node
  }
  return null
}

export function sentence(reel: Reel, now: number): string {
  const state = reel.tape.stateAt(now)
  const header = reel.tape.header
  if (!state || !header) return 'Waiting for the first seconds of the simulation.'
  const up = state.running()
  const parts = []
  if (state.split) parts.push(`The group is cut in ${new Set(state.split).size}`)
  const focus = focusOf(reel, now)
  if (focus !== null) parts.push(about(reel, state, focus, now))
  else if (!header.moving) {
    const doubted = troubled(state).filter((n) => state.hosts[n] === UP).length
    parts.push(up === state.n ? `All ${state.n} run` : `${up} of ${state.n} run`)
    if (doubted) parts.push(`${doubted} of them suspected somewhere`)
    else if (up === state.n) parts[parts.length - 1] += ' and nobody is suspected'
  }
  if (header.moving) {
    const wrong = wrongly(state)
    parts.push(`${plural(up, 'node')} in ${plural(components(state), 'component')}`, wrong ? `${wrong} follow another than the best leader` : 'all follow the best leader')
  }
  header.elections.forEach((name, e) => {
    if (header.moving) return
    const acts = [...state.acts[e]].filter((n) => state.hosts[n] === UP)
    parts.push(acts.length ? `${list(acts.map(nodeName))} ${acts.length > 1 ? 'lead' : 'leads'} election ${name}` : `nobody leads election ${name}`)
  })
  header.locks.forEach((name, l) => {
    const of = (is: number) => [...state.locks[l]].filter(([, x]) => x === is).map(([n]) => n)
    const [holds, waits] = [of(HOLDS), of(WAITS)]
    if (holds.length || waits.length) parts.push(`${holds.length ? `${list(holds.map(nodeName))} ${holds.length > 1 ? 'share' : 'holds'} lock ${name}` : `nobody holds lock ${name}`}${waits.length ? `, ${plural(waits.length, 'waits', 'wait')}` : ''}`)
  })
  return parts.map((part) => `${part[0].toUpperCase()}${part.slice(1)}.`).join(' ')
}

function about(reel: Reel, state: State, n: number, now: number): string {
  const others = state.running() - Number(state.hosts[n] === UP)
  const crash = [...reel.story.items.slice(0, upTo(reel.story.items, now))].reverse().find((i) => i.node === n && i.text.endsWith('crashes'))
  const is = state.hosts[n] === CRASHED ? `crashed${crash ? ` ${span((now - crash.at) / 1000)} ago` : ''}` : state.hosts[n] === PAUSED ? 'stands still' : 'runs'
  const words = []
  if (state.verdicts[n]) words.push(`${state.verdicts[n]} of ${others} hold it failed`)
  if (state.suspects[n]) words.push(`${state.suspects[n]}${state.verdicts[n] ? '' : ` of ${others}`} suspect it`)
  return `${nodeName(n)} ${is}: ${words.join(', ')}`
}

/** Nodes that somebody suspects or holds failed, and those that do not run. */
export function troubled(state: State): number[] {
  const all = []
  for (let n = 0; n < state.n; n++) if (state.hosts[n] !== UP || state.suspects[n] || state.verdicts[n]) all.push(n)
  return all
}

export function wrongly(state: State): number {
  let wrong = 0
  for (let n = 0; n < state.n; n++) wrong += Number(state.hosts[n] === UP && state.ought[n] >= 0 && state.follows[0][n] !== state.ought[n])
  return wrong
}

/** By whom each should follow: one leader for each component. */
export function components(state: State): number {
  const leaders = new Set<number>()
  for (let n = 0; n < state.n; n++) if (state.hosts[n] === UP) leaders.add(state.ought[n])
  return leaders.size
}
