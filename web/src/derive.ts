// What follows from what the agent says: names, parts of a split group, stories, and the sentence at the top.

import { cut, list, plural, span } from './format'
import { now, state } from './store'
import type { Contender, Election, Ev, LabNode, Lock, Member, Summary, Term } from './types'

let known: { list: Member[]; byId: Map<string, Member> } = { list: [], byId: new Map() }

export function memberOf(id: string): Member | undefined {
  if (known.list !== state.members) known = { list: state.members, byId: new Map(state.members.map((m) => [m.id, m])) }
  return known.byId.get(id)
}

export function nameOf(id: string, fallback = ''): string {
  const member = memberOf(id)
  const name = member?.name || fallback || state.lab?.nodes.find((n) => n.id === id)?.name
  return name ? cut(name) : id.slice(0, 8)
}

export function label(m: { name: string; id: string }): string {
  return m.name ? cut(m.name) : m.id.slice(0, 8)
}

const ORDER = { failed: 0, suspect: 1, left: 3, alive: 2 }

const names = new Intl.Collator('en', { numeric: true })
let ranked: { list: Member[]; named: Member[]; troubled: Member[] } = { list: [], named: [], troubled: [] }

/** All members by name; sorted once for every list that comes. */
export function byName(): Member[] {
  if (ranked.list !== state.members) {
    const keyed = state.members.map((m) => [label(m), m] as const).sort(([a], [b]) => names.compare(a, b))
    const named = keyed.map(([, m]) => m)
    ranked = { list: state.members, named, troubled: [...named].sort((a, b) => ORDER[a.status] - ORDER[b.status]) }
  }
  return ranked.named
}

/** Trouble first, then by name. */
export function byTrouble(): Member[] {
  byName()
  return ranked.troubled
}

export function counts() {
  const of = (status: string) => state.members.filter((m) => m.status === status).length
  const [alive, suspect, failed, left] = [of('alive'), of('suspect'), of('failed'), of('left')]
  return { alive, suspect, failed, left, all: alive + suspect + failed }
}

/** For how long a member has had its status, now. */
export function since(m: Member): number | null {
  return m.since_ms === null ? null : m.since_ms + Date.now() - state.at.members
}

// ---------- parts of a split group ----------

export interface Split {
  /** Ids of those on the side of the agent that answers. */
  near: Set<string>
  /** All others. */
  far: Set<string>
  /** The others, as parts that do not hear each other either; each with its leader, where the page can ask there. */
  islands: { ids: Set<string>; leader: string | null }[]
  /** Asked on all sides, or guessed from failures that came together. */
  certain: boolean
  sinceMs: number | null
}

export function split(): Split | null {
  return state.lab ? splitOfLab() : splitByGuess()
}

function splitOfLab(): Split | null {
  const nodes = state.lab!.nodes.filter((n) => n.state === 'running' && n.sees)
  const own = nodes.find((n) => n.id === state.self?.id)
  if (!own || nodes.length < 2) return null
  // Those that count each other alive, over any number of steps.
  const rest = new Set(nodes)
  const island = (from: LabNode) => {
    const ids = new Set<string>()
    const open = [from]
    rest.delete(from)
    for (let a = open.pop(); a; a = open.pop()) {
      ids.add(a.id)
      for (const b of rest) {
        if (!a.sees!.includes(b.id) || !b.sees!.includes(a.id)) continue
        rest.delete(b)
        open.push(b)
      }
    }
    return ids
  }
  const near = island(own)
  const islands: Split['islands'] = []
  for (const n of rest) {
    const ids = island(n)
    // A node that was just added or revived is not a side of its own.
    if (ids.size === 1 && n.sees!.length <= 1 && !n.far && !n.isolated) continue
    islands.push({ ids, leader: nodes.find((x) => ids.has(x.id) && x.leader && ids.has(x.leader))?.leader ?? null })
  }
  if (islands.length === 0) return null
  const far = new Set(islands.flatMap((i) => [...i.ids]))
  for (const m of state.members) {
    if (m.status === 'alive' && !far.has(m.id)) near.add(m.id)
  }
  const spans = state.members.filter((m) => far.has(m.id)).map((m) => since(m) ?? 0)
  return { near, far, islands, certain: true, sinceMs: spans.length ? Math.max(...spans) : null }
}

/** How close failures have to be to count as one: a few may fail by chance, so they have to be closer. */
const TOGETHER_MS = 8000
const TOGETHER_FEW_MS = 4000

/** Many that fail together are rarely so many failures: it is the way to them. */
function splitByGuess(): Split | null {
  const failed = state.members
    .filter((m) => m.status === 'failed' && m.since_ms !== null)
    .sort((a, b) => a.since_ms! - b.since_ms!)
  const within = (ms: number) => {
    let best: Member[] = []
    for (const first of failed) {
      const together = failed.filter((m) => m.since_ms! >= first.since_ms! && m.since_ms! - first.since_ms! < ms)
      if (together.length > best.length) best = together
    }
    return best
  }
  let best = within(TOGETHER_MS)
  if (best.length < 4) best = within(TOGETHER_FEW_MS)
  if (best.length < 2 || best.length * 4 <= counts().all) return null
  const far = new Set(best.map((m) => m.id))
  const near = new Set(state.members.filter((m) => m.status === 'alive' || m.status === 'suspect').map((m) => m.id))
  return { near, far, islands: [{ ids: far, leader: null }], certain: false, sinceMs: since(best[best.length - 1]) }
}

// ---------- agreement ----------

export interface Agreement {
  agree: number
  of: number
  differ: string[]
  /** Members whose list is not known. */
  unknown: number
}

/** How many lists agree with the answering agent's: in `up` the page asks all, elsewhere it goes by what they tell. */
export function agreement(): Agreement | null {
  if (!state.lab) return agreementBySummaries()
  const nodes = state.lab.nodes.filter((n) => n.state === 'running' && n.sees)
  const own = nodes.find((n) => n.id === state.self?.id)
  if (!own) return null
  const key = (ids: string[]) => [...ids].sort().join()
  const differ = nodes.filter((n) => key(n.sees!) !== key(own.sees!))
  return { agree: nodes.length - differ.length, of: nodes.length, differ: differ.map((n) => label(n)), unknown: 0 }
}

/** Answers older than this tell nothing about now. */
const SUMMARY_OLD_MS = 60_000

/** The age of a summary, now. */
export function ageOf(s: Summary): number {
  return s.age_ms + Date.now() - state.at.summaries
}

function agreementBySummaries(): Agreement | null {
  const told = (state.summaries?.summaries ?? []).filter((s) => ageOf(s) < SUMMARY_OLD_MS)
  const own = told.find((s) => s.id === state.self?.id)
  if (!own || told.length < 2) return null
  const before = state.before.get(own.id)
  // A list that is a moment behind does not differ: twice in a row it does.
  const differs = (s: Summary) => {
    const earlier = state.before.get(s.id)
    return s.members_hash !== own.members_hash && earlier !== undefined && before !== undefined && earlier.members_hash !== before.members_hash
  }
  const differ = told.filter(differs)
  const unknown = (state.summaries?.missing.length ?? 0) + (state.summaries?.summaries.length ?? 0) - told.length
  return { agree: told.length - differ.length, of: told.length, differ: differ.map((s) => label(s)), unknown }
}

/** What of the counters a member added in a second: since the answer before, or since its start. */
export function rateOf(s: Summary, key: 'bytes_in' | 'bytes_out' | 'datagrams_in' | 'datagrams_out'): number {
  const before = state.before.get(s.id)
  const later = before && s.uptime_ms > before.uptime_ms
  const [n, ms] = later ? [s[key] - before[key], s.uptime_ms - before.uptime_ms] : [s[key], s.uptime_ms]
  return ms > 0 ? (Math.max(0, n) * 1000) / ms : 0
}

/** The version that a member runs, where it is known. */
export function versionOf(id: string): string | null {
  return state.summaries?.summaries.find((s) => s.id === id)?.version ?? null
}

let walked: { of: unknown; from: string; hops: Map<string, number> } = { of: null, from: '', hops: new Map() }

/** The number of links between this agent and a member, where links are known. */
export function hopsTo(id: string): number | undefined {
  const from = state.self?.id ?? ''
  if (walked.of !== state.topology || walked.from !== from) {
    const near = new Map<string, string[]>()
    for (const [a, b] of state.topology?.links ?? []) {
      near.set(a, [...(near.get(a) ?? []), b])
      near.set(b, [...(near.get(b) ?? []), a])
    }
    const hops = new Map([[from, 0]])
    // A map is walked in the order in which it grows.
    for (const [at, n] of hops) for (const next of near.get(at) ?? []) if (!hops.has(next)) hops.set(next, n + 1)
    walked = { of: state.topology, from, hops }
  }
  return walked.hops.get(id)
}

// ---------- elections and locks ----------

/** Since when an election has its leader, in the agent's time. */
export function leaderSince(e: Election): { ms: number; partly: boolean } | null {
  const term = e.terms.at(-1)
  if (!e.leader || !term || term.until_ms !== null) return null
  // One that is elected again stays.
  let first = term
  for (let i = e.terms.length - 2; i >= 0; i--) {
    const t = e.terms[i]
    if (t.id !== term.id || t.ended !== 'renewed') break
    first = t
  }
  return { ms: now() - first.from_ms, partly: first.partly }
}

export function vacantSince(e: Election): number | null {
  const term = e.terms.at(-1)
  return e.leader || !term?.until_ms ? null : now() - term.until_ms
}

/** What is left of a lease, now. */
export function leaseLeft(left_ms: number): number {
  return Math.max(0, left_ms - (Date.now() - state.at.locks))
}

/** How long a contender has been seen to wait, now. */
export function waited(c: Contender): number {
  return (c.waited_ms ?? 0) + Date.now() - state.at.locks
}

/** When what ended a term began: the order or the first suspicion that the next leader follows from. */
export function troubleAt(e: Election, next: { token: string }): number | null {
  let event = state.events.find((x) => x.event === 'leader_changed' && x.election_id === e.id && x.leader?.token === next.token)
  const first = event
  while (event?.cause !== undefined) {
    const cause: Ev | undefined = state.events.find((x) => x.seq === event!.cause)
    if (!cause) break
    event = cause
  }
  return event && event !== first ? event.at_ms : null
}

/** For how long nobody led between two terms: from the first sign that the leader was gone, if it failed. */
export function vacancy(e: Election, before: Term, after: Term): number {
  const until = before.until_ms ?? after.from_ms
  const sign = before.ended === 'failed' || before.ended === 'silent' ? troubleAt(e, after) : null
  return Math.max(0, after.from_ms - Math.max(before.from_ms, Math.min(sign ?? until, until)))
}

export function statusOf(id: string): string {
  return memberOf(id)?.status ?? 'left'
}

/** Locks whose holder failed, so that others wait for the lease to end. */
export function blocked(): Lock[] {
  return (state.locks?.locks ?? []).filter((l) => l.contenders.some((c) => c.held && statusOf(c.id) === 'failed'))
}

// ---------- stories ----------

export interface Story {
  id: number
  events: Ev[]
  icon: string
  tone: string
  title: string
  note: string
}

/** Which events are shown by which filter. */
export function kindOf(e: Ev): 'members' | 'leaders' | 'locks' | 'links' | 'messages' | 'lab' {
  if (/lead|stepped/.test(e.event)) return 'leaders'
  if (/lock/.test(e.event)) return 'locks'
  if (/link|options|tokens/.test(e.event)) return 'links'
  if (e.event === 'message' || e.event === 'query') return 'messages'
  return e.event === 'lab' ? 'lab' : 'members'
}

/** Events that were brought about by one another, the newest story first. */
export function stories(events: Ev[]): Story[] {
  const root = new Map<number, number>()
  const groups = new Map<number, Ev[]>()
  let crowd: { at: number; root: number } | null = null
  const seats = new Map<string, { id: string; at: number; root: number }>()
  for (const e of events) {
    // Changed tags and addresses are told, a changed candidacy goes with what it leads to.
    if ((e.event === 'updated' && !e.reason) || e.event === 'lagged') continue
    let at = e.cause !== undefined ? root.get(e.cause) : undefined
    // Those that come or fail together are one story.
    const together = e.event === 'up' && e.reason === 'joined' ? 5000 : e.event === 'suspected' ? 3000 : 0
    if (at === undefined && together) {
      if (crowd && e.at_ms - crowd.at < together && groups.get(crowd.root)?.[0].event === e.event) at = crowd.root
      crowd = { at: e.at_ms, root: at ?? e.seq }
    }
    // The same leader, confirmed or with a later token.
    const seat = e.event === 'leader_changed' ? seats.get(e.election_id ?? '') : undefined
    if (at === undefined && seat && seat.id === e.leader?.id && e.at_ms - seat.at < 5000) at = seat.root
    at ??= e.seq
    root.set(e.seq, at)
    if (e.event === 'leader_changed' && e.leader) seats.set(e.election_id ?? '', { id: e.leader.id, at: e.at_ms, root: at })
    const group = groups.get(at)
    if (group) group.push(e)
    else groups.set(at, [e])
  }
  const all = [...groups].map(([id, list]) => story(id, list))
  return all.sort((a, b) => b.events[b.events.length - 1].seq - a.events[a.events.length - 1].seq)
}

function story(id: number, events: Ev[]): Story {
  const of = (event: string, reason?: string) => events.filter((e) => e.event === event && (!reason || e.reason === reason))
  const names = (list: Ev[]) => [...new Set(list.map((e) => (e.member ? label(e.member) : '')))].filter(Boolean)
  const failed = of('down', 'failed')
  const apart = cutOff(events[0])
  const leaders = of('leader_changed')
  const last = leaders.at(-1)
  const first = events[0]
  const total = events[events.length - 1].at_ms - first.at_ms
  const note = events.length > 1 ? `${span(total, true)} from first to last` : ''
  const make = (icon: string, tone: string, title: string, n = note): Story => ({ id, events, icon, tone, title, note: n })
  const took = last?.leader ? `${nameOf(last.leader.id, last.leader.name)} took over ${cut(last.election ?? '')}` : ''
  if (failed.length) {
    const who = `${list(names(failed))} failed`
    const back = of('up', 'returned').length + of('up', 'joined').length
    if (apart) return make('split', 'failed', `The group was cut, ${plural(apart.length, 'member is', 'members are')} on the other side${took ? `, ${took}` : ''}`)
    return make('failed', 'failed', took ? `${who}, ${took}` : back ? `${who}, and came back` : who)
  }
  const refuted = of('up', 'refuted')
  if (first.event === 'lab' && first.reason === 'heal' && events.length > 1) {
    const back = names(of('up', 'returned'))
    return make('refute', 'alive', `The network was healed${back.length ? `, ${list(back)} came back` : ''}`)
  }
  if (refuted.length) return make('refute', 'alive', `${list(names(refuted))} ${refuted.length > 1 ? 'were' : 'was'} suspected wrongly`, `answered after ${span(total, true)}`)
  const suspected = of('suspected')
  if (suspected.length) return make('suspect', 'suspect', `${list(names(suspected))} ${names(suspected).length > 1 ? 'are' : 'is'} suspected`, 'no verdict yet')
  const left = of('down', 'left')
  if (left.length) return make('left', 'left', took ? `${list(names(left))} left, ${took}` : `${list(names(left))} left`)
  const joined = of('up')
  if (joined.length) {
    const who = names(joined)
    const word = joined.every((e) => e.reason === 'returned') ? 'came back' : 'joined'
    return make('join', 'alive', who.length > 3 ? `${who.length} members ${word}` : `${list(who)} ${word}`)
  }
  const granted = of('lock_granted').at(-1)
  const released = of('lock_released').at(-1)
  if (granted && released) return make('key', 'lock', `${cut(granted.lock ?? '')} went from ${label(released.member!)} to ${label(granted.member!)}`)
  if (granted) return make('key', 'lock', `${label(granted.member!)} took ${cut(granted.lock ?? '')}`)
  if (released) return make('key', 'lock', `${label(released.member!)} gave ${cut(released.lock ?? '')} back`)
  if (last?.leader) return make('crown', 'leader', `${nameOf(last.leader.id, last.leader.name)} leads ${cut(last.election ?? '')}`)
  if (of('leader_vacant').length) return make('vacant', 'failed', `Nobody leads ${cut(first.election ?? '')}`)
  if (first.event === 'lab') return make('flask', 'deed', headline(first))
  return make('dot', 'left', headline(first))
}

/** Whom an order of the lab cut off from the others, if it is such an order. */
function cutOff(e: Ev): string[] | null {
  const [deed, ...rest] = e.event === 'lab' ? (e.reason ?? '').split(' ') : []
  return deed === 'partition' ? rest : null
}

const DEEDS: Record<string, string> = {
  kill: 'Kill',
  revive: 'Revive',
  pause: 'Pause',
  resume: 'Resume',
  goodbye: 'Goodbye of',
  isolate: 'Isolate',
  heal: 'Heal the network',
  add: 'Add',
  lose: 'Loss at',
  slow: 'Delay at',
  campaign: 'Campaign of',
  withdraw: 'Withdrawal of',
  resign: 'Resignation of',
}

/** One event in a few words. */
export function headline(e: Ev): string {
  const who = e.member ? label(e.member) : ''
  const election = cut(e.election ?? '')
  const lock = cut(e.lock ?? '')
  switch (e.event) {
    case 'up':
      return e.reason === 'refuted' ? `${who} answered for itself` : e.reason === 'returned' ? `${who} is back` : `${who} joined`
    case 'suspected':
      return `${who} suspected by ${e.by ? nameOf(e.by) : 'a member'}`
    case 'down':
      return e.reason === 'left' ? `${who} left` : e.reason === 'restarted' ? `${who} restarted` : `${who} failed`
    case 'updated':
      return `${who} changed ${cut(e.reason ?? 'what it stands for in elections', 60)}`
    case 'leader_vacant':
      return who && e.reason === 'silent' ? `${who} did not renew its lease, nobody leads ${election}` : `Nobody leads ${election}`
    case 'leader_changed':
      return `${e.leader ? nameOf(e.leader.id, e.leader.name) : '?'} leads ${election}`
    case 'became_leader':
      return `This node may act as the leader of ${election}`
    case 'stepped_down':
      return `This node no longer leads ${election}`
    case 'lock_granted':
      return `${who} holds ${lock}`
    case 'lock_released':
      return e.reason === 'failed' ? `${lock} is free: ${who} had failed` : `${who} gave ${lock} back`
    case 'lock_lost':
      return `This node lost ${lock}`
    case 'lock_witness':
      return 'This node counts as a witness of locks'
    case 'self_accused':
      return `This node was accused by ${e.by ? nameOf(e.by) : 'a member'} and answered`
    case 'joined':
      return 'This node has joined its group'
    case 'departed':
      return 'This node has left its group'
    case 'link_up':
      return `Link to ${e.by ? nameOf(e.by) : '?'} is up`
    case 'link_down':
      return `Link to ${e.by ? nameOf(e.by) : '?'} is down`
    case 'identity_conflict':
      return 'Another process uses this node’s id'
    case 'options_differ':
      return `${e.by ? nameOf(e.by) : 'A member'} runs with another probe period`
    case 'tokens_from_clock':
      return 'Too few members remember the clock of lock tokens'
    case 'message':
      return `${who} told ${cut(e.message?.name ?? '', 40)}`
    case 'query':
      return `${who} asks ${cut(e.message?.name ?? '', 40)}`
    case 'identity_taken':
      return 'A process that was started earlier uses this node’s id'
    case 'lagged':
      return e.missed ? `${plural(e.missed, 'event')} missed` : 'The agent was restarted'
    case 'lab': {
      const [deed, ...rest] = (e.reason ?? '').split(' ')
      if (deed === 'partition') return `Cut ${list(rest.map((name) => cut(name)))} off from the others`
      if (deed === 'lock') return `Have ${who} take ${cut(rest.join(' '))}`
      if (deed === 'unlock') return `Have ${who} give ${cut(rest.join(' '))} back`
      return [DEEDS[deed] ?? deed, who, cut(rest.join(' '), 60)].filter(Boolean).join(' ')
    }
    default:
      return cut(e.event)
  }
}

/** What else is known of it. */
export function aside(e: Ev): string {
  switch (e.event) {
    case 'up':
      return e.reason === 'refuted' ? `incarnation ${e.member?.incarnation}` : e.reason === 'joined' ? `at ${e.member?.address ?? ''}` : 'it had not failed'
    case 'leader_vacant':
      return e.reason === 'resigned' ? 'the leader resigned' : e.reason === 'failed' || e.reason === 'left' ? `the leader ${e.reason}` : ''
    case 'down':
      return e.reason === 'failed' && e.by ? `by ${nameOf(e.by)}’s word` : ''
    case 'leader_changed': {
      if (!e.leader) return ''
      const how = e.leader.handed_over ? 'handed over; ' : ''
      return `${how}term ${e.leader.term}${e.leader.degraded ? ', with fewer lists than asked for' : ''}${e.leader.stage === 'tentative' ? ', tentative' : ''}`
    }
    case 'message':
    case 'query':
      return cut(e.message?.payload ?? '', 80)
    case 'lock_granted':
      return e.waited_ms != null ? `waited ${span(e.waited_ms, true)}` : ''
    case 'lock_released':
      return e.held_ms != null ? `held for ${span(e.held_ms, true)}` : ''
    case 'lock_lost':
      return cut(e.reason ?? '', 80)
    case 'lab':
      return 'by hand, in the lab'
    default:
      return ''
  }
}

export function iconOf(e: Ev): [string, string] {
  switch (e.event) {
    case 'up':
      return e.reason === 'refuted' ? ['refute', 'alive'] : ['join', 'alive']
    case 'suspected':
      return ['suspect', 'suspect']
    case 'down':
      return e.reason === 'failed' ? ['failed', 'failed'] : ['left', 'left']
    case 'leader_vacant':
      return ['vacant', 'failed']
    case 'leader_changed':
    case 'became_leader':
      return ['crown', 'leader']
    case 'stepped_down':
      return ['vacant', 'left']
    case 'lock_granted':
      return ['key', 'lock']
    case 'lock_released':
    case 'lock_lost':
      return ['key', e.reason === 'failed' || e.event === 'lock_lost' ? 'failed' : 'left']
    case 'message':
    case 'query':
      return ['message', 'left']
    case 'updated':
      return ['edit', 'left']
    case 'lab':
      return ['flask', 'deed']
    default:
      return ['dot', 'left']
  }
}
