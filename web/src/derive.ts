// What follows from what the agent says: names, parts of a split group, stories, and the sentence at the top.

import { calm, cut, list, plural, span } from './format'
import { now, state } from './store'
import type { Contender, Election, Ev, Lock, Member } from './types'

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
  far: Set<string>
  /** Leader on the far side, by election; known where the page can ask there. */
  farLeader: string | null
  /** Asked on both sides, or guessed from failures that came together. */
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
  const near = new Set([own.id])
  for (let grew = true; grew; ) {
    grew = false
    for (const a of nodes) {
      if (near.has(a.id)) continue
      if (nodes.some((b) => near.has(b.id) && b.sees!.includes(a.id) && a.sees!.includes(b.id))) {
        near.add(a.id)
        grew = true
      }
    }
  }
  const far = nodes.filter((n) => !near.has(n.id))
  if (far.length === 0) return null
  // A node that was just added or revived is not a side of its own.
  if (far.every((n) => n.sees!.length <= 1 && !n.far && !n.isolated && !near.has(n.id))) return null
  for (const m of state.members) {
    if (m.status === 'alive' && !far.some((n) => n.id === m.id)) near.add(m.id)
  }
  const ids = new Set(far.map((n) => n.id))
  const spans = state.members.filter((m) => ids.has(m.id)).map((m) => since(m) ?? 0)
  return {
    near,
    far: ids,
    farLeader: far.find((n) => n.leader && ids.has(n.leader))?.leader ?? null,
    certain: true,
    sinceMs: spans.length ? Math.max(...spans) : null,
  }
}

/** Many that fail together are rarely so many failures: it is the way to them. */
function splitByGuess(): Split | null {
  const failed = state.members
    .filter((m) => m.status === 'failed' && m.since_ms !== null)
    .sort((a, b) => a.since_ms! - b.since_ms!)
  let best: Member[] = []
  for (let i = 0; i < failed.length; i++) {
    const together = failed.filter((m) => m.since_ms! >= failed[i].since_ms! && m.since_ms! - failed[i].since_ms! < 8000)
    if (together.length > best.length) best = together
  }
  const all = counts().all
  if (best.length < 4 || best.length * 4 <= all) return null
  const far = new Set(best.map((m) => m.id))
  const near = new Set(state.members.filter((m) => m.status === 'alive' || m.status === 'suspect').map((m) => m.id))
  return { near, far, farLeader: null, certain: false, sinceMs: since(best[best.length - 1]) }
}

// ---------- agreement ----------

/** How many lists agree with the answering agent's: known where the page can ask all. */
export function agreement(): { agree: number; of: number; differ: string[] } | null {
  const nodes = state.lab?.nodes.filter((n) => n.state === 'running' && n.sees)
  const own = nodes?.find((n) => n.id === state.self?.id)
  if (!nodes || !own) return null
  const key = (ids: string[]) => [...ids].sort().join()
  const differ = nodes.filter((n) => key(n.sees!) !== key(own.sees!))
  return { agree: nodes.length - differ.length, of: nodes.length, differ: differ.map((n) => label(n)) }
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

export function statusOf(id: string): string {
  return memberOf(id)?.status ?? 'left'
}

/** Locks whose holder failed, so that others wait for the lease to end. */
export function blocked(): Lock[] {
  return (state.locks?.locks ?? []).filter((l) => l.contenders.some((c) => c.held && statusOf(c.id) === 'failed'))
}

// ---------- the sentence at the top ----------

export interface Health {
  level: 'alive' | 'suspect' | 'failed' | 'quiet'
  icon: string
  head: string
  detail: string[]
  advice: string
}

export function health(): Health {
  const n = counts()
  const self = state.self
  const name = self ? label(self) : 'this agent'
  const clauses: { level: Health['level']; icon: string; text: string }[] = []
  const add = (level: Health['level'], icon: string, text: string) => clauses.push({ level, icon, text })

  const parts = split()
  if (parts) {
    const [near, far] = [parts.near.size, parts.far.size]
    const sides = `${plural(near, 'member')} on this side, ${far} on the other`
    add('failed', 'split', parts.certain ? `The group is split: ${sides}.` : `${far} members fell silent together: a split rather than ${far} failures.`)
  }
  for (const e of state.elections) {
    const span = vacantSince(e)
    if (!e.leader && span !== null) {
      add('failed', 'vacant', `Nobody leads ${cut(e.name)} for ${calm(span)}; ${plural(e.candidates.length, 'candidate stands', 'candidates stand')}.`)
    }
  }
  const failed = byTrouble().filter((m) => m.status === 'failed' && !parts?.far.has(m.id))
  const fresh = failed.filter((m) => (since(m) ?? Infinity) < 60_000)
  if (fresh.length) {
    const last = Math.min(...fresh.map((m) => since(m)!))
    const took = takeovers(fresh)
    add('suspect', 'suspect', `${list(fresh.map(label))} failed ${calm(last)} ago.${took}`)
  }
  const suspects = state.members.filter((m) => m.status === 'suspect')
  for (const m of suspects.slice(0, 2)) add('suspect', 'suspect', suspicion(m))
  if (suspects.length > 2) add('suspect', 'suspect', `${suspects.length - 2} more are suspected.`)
  for (const lock of blocked()) {
    const holder = lock.contenders.find((c) => c.held)!
    const left = leaseLeft(holder.left_ms)
    add('suspect', 'key', `${cut(lock.name)} stays with ${nameOf(holder.id, holder.name)}, which failed, until its lease ends in ${span(left)}.`)
  }
  const lists = agreement()
  if (lists && lists.differ.length && !parts) {
    add('suspect', 'suspect', `Lists differ: ${list(lists.differ)} ${lists.differ.length === 1 ? 'does' : 'do'} not count the same members yet.`)
  }
  if (clauses.length) {
    const detail = clauses.slice(1).map((c) => c.text)
    if (!parts) detail.unshift(`${n.alive} of ${n.all} members are alive.`)
    return {
      level: clauses[0].level,
      icon: clauses[0].icon,
      head: clauses[0].text,
      detail,
      advice: advice(parts, fresh),
    }
  }
  if (n.all === 1) {
    return { level: 'quiet', icon: 'alive', head: `${name} is alone so far.`, detail: ['No other node has joined.'], advice: '' }
  }
  const leaders = state.elections.filter((e) => e.leader).map((e) => `${nameOf(e.leader!.id, e.leader!.name)} leads ${cut(e.name)}`)
  const contended = (state.locks?.locks ?? []).filter((l) => l.waiting > 0)
  const detail = []
  if (leaders.length) detail.push(`${list(leaders)}.`)
  if (contended.length) detail.push(`${list(contended.map((l) => cut(l.name)))} ${contended.length === 1 ? 'is' : 'are'} waited for.`)
  if (failed.length) {
    const span = calm(Math.min(...failed.map((m) => since(m) ?? 0)))
    detail.push(`${list(failed.map(label))} failed ${failed.length === 1 ? `${span} ago` : `, the last ${span} ago`}.`)
    return {
      level: 'alive',
      icon: 'alive',
      head: `${n.alive} members are here; ${n.failed} ${n.failed === 1 ? 'is' : 'are'} gone.`,
      detail,
      advice: 'Nothing to do. Who failed is remembered in case it comes back.',
    }
  }
  const agree = lists ? ' and agree' : ''
  return { level: 'alive', icon: 'alive', head: `All ${n.alive} members are here${agree}.`, detail, advice: 'Nothing to do.' }
}

function suspicion(m: Member): string {
  const known = state.cases.get(m.id)
  const accusers = known?.case.accusers.length ?? 0
  const by = accusers > 1 ? `${accusers}` : m.accuser ? nameOf(m.accuser) : 'one'
  const left = known?.case.verdict_in_ms
  const verdict = left != null ? `; verdict in ${span(Math.max(0, left - (Date.now() - known!.at)))}` : ''
  return `${label(m)} is suspected by ${by}${verdict}.`
}

/** Who took over from those that failed. */
function takeovers(failed: Member[]): string {
  const said = []
  for (const e of state.elections) {
    const before = e.terms.at(-2)
    if (e.leader && before && before.ended === 'failed' && failed.some((m) => m.id === before.id)) {
      said.push(` ${nameOf(e.leader.id, e.leader.name)} took over ${cut(e.name)}.`)
    }
  }
  return said.join('')
}

function advice(parts: Split | null, fresh: Member[]): string {
  if (parts?.certain) return 'Heal the network, or watch both sides go on alone. Leaders of both sides have different tokens: a resource that checks them obeys one.'
  if (parts) return 'Look at the way to them: cables, switches, radio.'
  if (state.elections.some((e) => !e.leader && vacantSince(e) !== null)) return 'Nothing to do yet: an election takes a moment.'
  const gaps = []
  for (const e of state.elections) {
    const [before, after] = e.terms.slice(-2)
    if (before?.until_ms && after && fresh.some((m) => m.id === before.id)) {
      const from = Math.min(before.until_ms, troubleAt(e, after) ?? before.until_ms)
      gaps.push(`${cut(e.name)} was without a leader for ${span(Math.max(0, after.from_ms - from), true)}`)
    }
  }
  if (gaps.length) return `Nothing to do. ${list(gaps)}, from the first sign to the new leader.`
  return fresh.length ? 'Nothing to do. Who failed is remembered in case it comes back.' : 'Nothing to do: it may answer for itself.'
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
export function kindOf(e: Ev): 'members' | 'leaders' | 'locks' | 'links' | 'lab' {
  if (/lead|stepped/.test(e.event)) return 'leaders'
  if (/lock/.test(e.event)) return 'locks'
  if (/link|options|tokens/.test(e.event)) return 'links'
  return e.event === 'lab' ? 'lab' : 'members'
}

/** Events that were brought about by one another, the newest story first. */
export function stories(events: Ev[]): Story[] {
  const root = new Map<number, number>()
  const groups = new Map<number, Ev[]>()
  let crowd: { at: number; root: number } | null = null
  for (const e of events) {
    if (e.event === 'updated' || e.event === 'lagged') continue
    let at = e.cause !== undefined ? root.get(e.cause) : undefined
    // Those that come or fail together are one story.
    const together = e.event === 'up' && e.reason === 'joined' ? 5000 : e.event === 'suspected' ? 3000 : 0
    if (at === undefined && together) {
      if (crowd && e.at_ms - crowd.at < together && groups.get(crowd.root)?.[0].event === e.event) at = crowd.root
      crowd = { at: e.at_ms, root: at ?? e.seq }
    }
    at ??= e.seq
    root.set(e.seq, at)
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
    return make('failed', 'failed', took ? `${who}, ${took}` : back ? `${who}, and came back` : who)
  }
  const refuted = of('up', 'refuted')
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

const DEEDS: Record<string, string> = {
  kill: 'Kill',
  revive: 'Revive',
  pause: 'Pause',
  resume: 'Resume',
  goodbye: 'Goodbye of',
  isolate: 'Isolate',
  partition: 'Partition',
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
    case 'leader_vacant':
      return `Nobody leads ${election}`
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
    case 'lab': {
      const [deed, ...rest] = (e.reason ?? '').split(' ')
      if (deed === 'lock') return `Have ${who} take ${cut(rest.join(' '))}`
      if (deed === 'unlock') return `Have ${who} give ${cut(rest.join(' '))} back`
      return [DEEDS[deed] ?? deed, who, cut(rest.join(' '), 60)].filter(Boolean).join(' ')
    }
    default:
      return e.event
  }
}

/** What else is known of it. */
export function aside(e: Ev): string {
  switch (e.event) {
    case 'up':
      return e.reason === 'refuted' ? `incarnation ${e.member?.incarnation}` : e.reason === 'joined' ? `at ${e.member?.address ?? ''}` : 'it had not failed'
    case 'down':
      return e.reason === 'failed' && e.by ? `by ${nameOf(e.by)}’s word` : ''
    case 'leader_changed': {
      if (!e.leader) return ''
      const how = e.leader.handed_over ? 'handed over; ' : ''
      return `${how}term ${e.leader.term}${e.leader.degraded ? ', with fewer lists than asked for' : ''}${e.leader.stage === 'tentative' ? ', tentative' : ''}`
    }
    case 'lock_granted':
      return e.waited_ms != null ? `waited ${span(e.waited_ms, true)}` : ''
    case 'lock_released':
      return e.held_ms != null ? `held for ${span(e.held_ms, true)}` : ''
    case 'lock_lost':
      return e.reason ?? ''
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
    case 'lab':
      return ['flask', 'deed']
    default:
      return ['dot', 'left']
  }
}
