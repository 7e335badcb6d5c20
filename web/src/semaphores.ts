// A semaphore is a lock for each of its permits; here these are one.

import type { Lock, Locks } from './types'

/** The same answer with the slots of each semaphore put together. */
export function semaphores(answer: Locks): Locks {
  const locks = merge(answer.locks)
  const held = new Map(locks.map((l) => [l.name, l]))
  const idle = merge(answer.idle).filter((l) => {
    const same = l.semaphore && held.get(l.name)
    if (same) same.turns = inOrder([...same.turns, ...l.turns])
    return !same
  })
  return { ...answer, locks, idle }
}

function merge(list: Lock[]): Lock[] {
  const all = new Map<string, Lock>()
  for (const lock of list) {
    if (lock.slot === undefined) {
      all.set(lock.id, lock)
      continue
    }
    const name = lock.name.replace(/#\d+$/, '')
    const key = `semaphore ${name}`
    const known = all.get(key) ?? { ...lock, name, id: key, semaphore: true, contenders: [], turns: [], slot: undefined }
    all.set(key, known)
    known.held ||= lock.held
    known.permits = Math.max(known.permits ?? 0, lock.permits ?? 0) || undefined
    known.turns = inOrder([...known.turns, ...lock.turns])
    // Who waits, waits for all slots.
    const fresh = lock.contenders.filter((c) => c.held || !known.contenders.some((k) => !k.held && k.id === c.id))
    known.contenders = [...known.contenders, ...fresh].sort((a, b) => Number(b.held) - Number(a.held))
    known.waiting = known.contenders.reduce((n, c) => n + (c.held ? 0 : 1 + c.behind), 0)
  }
  return [...all.values()]
}

const inOrder = (turns: Lock['turns']) => turns.sort((a, b) => a.from_ms - b.from_ms)
