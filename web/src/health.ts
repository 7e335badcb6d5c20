// The sentence at the top: the worst true thing first, then the rest, then what to do.

import { agreement, blocked, byTrouble, counts, label, leaseLeft, nameOf, since, split, vacancy, vacantSince, type Split } from './derive'
import { calm, cut, list, plural, span } from './format'
import { state } from './store'
import type { Lock, Member } from './types'

// A name in a text is a link: where it leads and the name, between characters that no name has (`safe` removes them).
const [OPEN, MID, CLOSE] = ['\u0001', '\u0002', '\u0003']

const link = (to: string, name: string) => `${OPEN}${to}${MID}${name}${CLOSE}`
const member = (id: string, name = '') => link(`members/${id}`, nameOf(id, name))
const election = (name: string) => link(`elections/${encodeURIComponent(name)}`, cut(name))
const lockOf = (l: Lock) => link(`locks/${encodeURIComponent(l.name)}`, cut(l.name))

/** The text without links. */
export function plain(text: string): string {
  return parts(text).map((p) => p.text).join('')
}

/** The pieces of a text: those that are links have an address. */
export function parts(text: string): { text: string; to?: string }[] {
  return text.split(OPEN).flatMap((piece, i) => {
    if (i === 0) return [{ text: piece }]
    const [to, rest = ''] = piece.split(MID)
    const [name, after = ''] = rest.split(CLOSE)
    return [{ text: name, to }, { text: after }]
  })
}

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

  const sides = split()
  if (sides) {
    const [near, far, islands] = [sides.near.size, sides.far.size, sides.islands.map((i) => i.ids.size)]
    const others = islands.length === 1 ? `${far} on the other` : `${list(islands.map(String), 9)} on ${islands.length} others`
    const guess = far < 4 ? `a split, or ${far} failures` : `a split rather than ${far} failures`
    add('failed', 'split', sides.certain ? `The group is split: ${plural(near, 'member')} on this side, ${others}.` : `${far} members fell silent together: ${guess}.`)
  }
  for (const e of state.elections) {
    const span = vacantSince(e)
    if (!e.leader && span !== null) {
      add('failed', 'vacant', `Nobody leads ${election(e.name)} for ${calm(span)}; ${plural(e.candidates.length, 'candidate stands', 'candidates stand')}.`)
    }
  }
  const failed = byTrouble().filter((m) => m.status === 'failed' && !sides?.far.has(m.id))
  const fresh = failed.filter((m) => (since(m) ?? Infinity) < 60_000)
  if (fresh.length) {
    const last = Math.min(...fresh.map((m) => since(m)!))
    const took = takeovers(fresh)
    add('suspect', 'suspect', `${list(fresh.map((m) => member(m.id)))} failed ${calm(last)} ago.${took}`)
  }
  const suspects = state.members.filter((m) => m.status === 'suspect')
  for (const m of suspects.slice(0, 2)) add('suspect', 'suspect', suspicion(m))
  if (suspects.length > 2) add('suspect', 'suspect', `${suspects.length - 2} more are suspected.`)
  for (const lock of blocked()) {
    const holder = lock.contenders.find((c) => c.held)!
    const next = lock.contenders.find((c) => !c.held)
    const then = next ? `, then ${member(next.id, next.name)} has it` : ''
    add('suspect', 'key', `${lockOf(lock)} stays with ${member(holder.id, holder.name)}, which failed, until its lease ends in ${span(leaseLeft(holder.left_ms))}${then}.`)
  }
  const lists = agreement()
  if (lists && lists.differ.length && !sides) {
    add('suspect', 'suspect', `Lists differ: ${list(lists.differ)} ${lists.differ.length === 1 ? 'does' : 'do'} not count the same members yet.`)
  }
  if (clauses.length) {
    const detail = clauses.slice(1).map((c) => c.text)
    if (!sides) detail.unshift(`${n.alive} of ${n.all} members are alive.`)
    if (lists && !lists.differ.length && !lists.unknown && !sides) detail.push('All lists agree.')
    return {
      level: clauses[0].level,
      icon: clauses[0].icon,
      head: clauses[0].text,
      detail,
      advice: advice(sides, fresh),
    }
  }
  if (n.all === 1) {
    return { level: 'quiet', icon: 'alive', head: `${name} is alone so far.`, detail: ['No other node has joined.'], advice: '' }
  }
  const leaders = state.elections.filter((e) => e.leader).map((e) => `${member(e.leader!.id, e.leader!.name)} leads ${election(e.name)}`)
  const contended = (state.locks?.locks ?? []).filter((l) => l.waiting > 0)
  const detail = []
  if (leaders.length) detail.push(`${list(leaders)}.`)
  if (contended.length) detail.push(`${list(contended.map(lockOf))} ${contended.length === 1 ? 'is' : 'are'} waited for.`)
  if (failed.length) {
    const span = calm(Math.min(...failed.map((m) => since(m) ?? 0)))
    detail.push(`${list(failed.map((m) => member(m.id)))} failed${failed.length === 1 ? ` ${span} ago` : `, the last ${span} ago`}.`)
    return {
      level: 'alive',
      icon: 'alive',
      head: `${n.alive} members are here; ${n.failed} ${n.failed === 1 ? 'is' : 'are'} gone.`,
      detail,
      advice: 'Nothing to do. Who failed is remembered in case it comes back.',
    }
  }
  const agree = lists && !lists.differ.length && !lists.unknown ? ' and agree' : ''
  return { level: 'alive', icon: 'alive', head: `All ${n.alive} members are here${agree}.`, detail, advice: 'Nothing to do.' }
}

function suspicion(m: Member): string {
  const known = state.cases.get(m.id)
  const accusers = known?.case.accusers.length ?? 0
  const by = accusers > 1 ? `${accusers}` : m.accuser ? member(m.accuser) : 'one'
  const left = known?.case.verdict_in_ms
  const verdict = left != null ? `; verdict in ${span(Math.max(0, left - (Date.now() - known!.at)))}` : ''
  return `${member(m.id)} is suspected by ${by}${verdict}.`
}

/** Who took over from those that failed. */
function takeovers(failed: Member[]): string {
  const said = []
  for (const e of state.elections) {
    const before = e.terms.at(-2)
    if (e.leader && before && before.ended === 'failed' && failed.some((m) => m.id === before.id)) {
      said.push(` ${member(e.leader.id, e.leader.name)} took over ${election(e.name)}.`)
    }
  }
  return said.join('')
}

function advice(sides: Split | null, fresh: Member[]): string {
  if (sides?.certain) return 'Heal the network, or watch the sides go on alone. Their leaders have different tokens: a resource that checks them obeys one.'
  if (sides) return 'Look at the way to them: cables, switches, radio.'
  if (state.elections.some((e) => !e.leader && vacantSince(e) !== null)) return 'Nothing to do yet: an election takes a moment.'
  const gaps = []
  for (const e of state.elections) {
    const [before, after] = e.terms.slice(-2)
    if (before?.until_ms && after && fresh.some((m) => m.id === before.id)) {
      gaps.push(`${cut(e.name)} was without a leader for ${span(vacancy(e, before, after), true)}`)
    }
  }
  if (gaps.length) return `Nothing to do. ${list(gaps)}.`
  return fresh.length ? 'Nothing to do. Who failed is remembered in case it comes back.' : 'Nothing to do: it may answer for itself.'
}

