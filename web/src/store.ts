// What the page knows, and how it learns it: the HTTP interface and its event stream, nothing else.

import { useEffect, useState } from 'preact/hooks'
import { semaphores } from './semaphores'
import type * as T from './types'

export type Connection = 'loading' | 'live' | 'mute' | 'gone' | 'locked'

export interface State {
  connection: Connection
  /** When the agent last answered, by this machine's clock. */
  lastWord: number
  nextTry: number
  self: T.Self | null
  members: T.Member[]
  elections: T.Election[]
  locks: T.Locks | null
  /** When each was received, by this machine's clock: spans count from then. */
  at: { members: number; elections: number; locks: number; summaries: number }
  topology: T.Topology | null
  stats: T.Counters | null
  samples: T.Sample[]
  /** What the members tell about themselves, and what each told before. */
  summaries: T.Summaries | null
  before: Map<string, T.Summary>
  lab: T.Lab | null
  events: T.Ev[]
  cases: Map<string, { at: number; case: T.Case }>
  /** How much the agent's clock is ahead of this machine's. */
  skew: number
  /** What went wrong with the last order, for the laboratory. */
  complaint: string
  /** What the agent said of the token, where it asks for one. */
  refusal: string
}

export const state: State = {
  connection: 'loading',
  lastWord: 0,
  nextTry: 0,
  self: null,
  members: [],
  elections: [],
  locks: null,
  at: { members: 0, elections: 0, locks: 0, summaries: 0 },
  topology: null,
  stats: null,
  samples: [],
  summaries: null,
  before: new Map(),
  lab: null,
  events: [],
  cases: new Map(),
  skew: 0,
  complaint: '',
  refusal: '',
}

const EVENTS_MAX = 5000

// ---------- telling the page ----------

const listeners = new Set<() => void>()
let scheduled = false

/** Renders once for all changes of a moment; a hidden page is not rendered until it is looked at. */
export function changed(): void {
  if (scheduled) return
  scheduled = true
  const run = () => {
    scheduled = false
    for (const listener of listeners) listener()
  }
  if (document.hidden) setTimeout(run, 500)
  else requestAnimationFrame(run)
}

/** Renders the component with every change, and every `tick` milliseconds if given. */
export function useStore(tick = 0): State {
  const [, render] = useState(0)
  useEffect(() => {
    const listener = () => render((n) => n + 1)
    listeners.add(listener)
    const timer = tick ? setInterval(() => document.hidden || listener(), tick) : 0
    return () => {
      listeners.delete(listener)
      clearInterval(timer)
    }
  }, [tick])
  return state
}

/** The agent's clock. */
export function now(): number {
  return (state.connection === 'gone' ? state.lastWord : Date.now()) + state.skew
}

// ---------- asking ----------

class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

// The token is kept for this tab only, and sent in a header: it is in no address and no cookie.
const TOKEN = 'consort-token'

function credentials(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN)
  return token ? { authorization: `Bearer ${token}` } : {}
}

/** Takes a token and tries it. */
export function signIn(token: string): void {
  sessionStorage.setItem(TOKEN, token.trim())
  void connect()
}

/** Forgets the token and what was shown with it. */
export function signOut(): void {
  sessionStorage.removeItem(TOKEN)
  location.reload()
}

/** Whether this page was signed in. */
export function signedIn(): boolean {
  return sessionStorage.getItem(TOKEN) !== null
}

/** How long an answer may take; that of slow sources waits for other members. */
const PATIENCE = 6000
const PATIENCE_SLOW = 60_000

async function ask<A>(path: string, body?: unknown, patience = PATIENCE): Promise<A> {
  const headers = credentials()
  const init: RequestInit = { signal: AbortSignal.timeout(patience), cache: 'no-store', headers }
  if (body !== undefined) {
    init.method = 'POST'
    headers['content-type'] = 'application/json'
    init.body = JSON.stringify(body)
  }
  const answer = await fetch(path, init)
  const json = await answer.json()
  if (!answer.ok) throw new Refused(answer.status, json.code ?? '', json.message ?? answer.statusText)
  return json as A
}

let view = 'overview'
let chosen: string | null = null

/** What is looked at decides what is asked for. */
export function lookAt(newView: string, member: string | null): void {
  view = newView
  chosen = member
  summaries.due = Math.min(summaries.due, state.at.summaries + (SUMMARIES[view] ?? Infinity))
  locks.due = Math.min(locks.due, state.at.locks + locks.every())
  wake()
}

interface Source {
  path: () => string | null
  /** Milliseconds between two questions. */
  every: () => number
  take: (answer: never) => void
  due: number
  busy: boolean
}

function source<A>(
  path: string | (() => string | null),
  every: number | (() => number),
  take: (answer: A) => void,
): Source {
  return {
    path: typeof path === 'string' ? () => path : path,
    every: typeof every === 'number' ? () => every : every,
    take: take as (answer: never) => void,
    due: 0,
    busy: false,
  }
}

const big = () => (state.members.length > 100 ? 2 : 1)

const members = source<T.Member[]>(
  '/v1/members',
  () => 2000 * big(),
  (list) => {
    state.members = list
    state.at.members = Date.now()
  },
)
const elections = source<T.Election[]>('/v1/elections', 2000, (list) => {
  list.sort((a, b) => (a.name < b.name ? -1 : 1))
  state.elections = list
  state.at.elections = Date.now()
})
const locks = source<T.Locks>(
  '/v1/locks',
  // Each answer asks all members. Hand-overs are events; what is left of a lease is asked for where it is shown.
  () => (view === 'locks' || (view === 'overview' && state.locks?.locks.length) ? 1500 : 5000) * big(),
  (answer) => {
    answer.locks.sort((a, b) => (a.name < b.name ? -1 : 1))
    state.locks = semaphores(answer)
    state.at.locks = Date.now()
  },
)
const lab = source<T.Lab>(
  () => (state.self?.lab ? '/lab' : null),
  1000,
  (answer) => {
    state.lab = answer
  },
)

/** Each answer may ask all members, so it is asked for where it is shown only. */
const SUMMARIES: Record<string, number> = { traffic: 5000, overview: 15_000, members: 15_000 }

const summaries = source<T.Summaries>(
  () => (view in SUMMARIES ? '/v1/summaries' : null),
  () => SUMMARIES[view] ?? 1000,
  (answer) => {
    for (const s of state.summaries?.summaries ?? []) {
      const next = answer.summaries.find((n) => n.id === s.id)
      // The same answer again is no later one.
      if (next && next.uptime_ms !== s.uptime_ms) state.before.set(s.id, s)
      if (!next) state.before.delete(s.id)
    }
    state.summaries = answer
    state.at.summaries = Date.now()
  },
)

const sources: Source[] = [
  source<T.Self>('/v1/self', 5000, (self) => {
    state.self = self
  }),
  members,
  elections,
  locks,
  lab,
  summaries,
  source<T.Topology>(
    () => (state.self?.topology ? '/v1/topology' : null),
    () => (view === 'map' ? 2000 : 15_000),
    (answer) => {
      state.topology = answer
    },
  ),
  source<T.Counters>(
    '/v1/stats',
    () => (view === 'traffic' ? 2000 : 10_000),
    (answer) => {
      state.stats = answer
    },
  ),
  source<{ samples: T.Sample[] }>(
    '/v1/stats/history',
    () => (view === 'traffic' ? 5000 : 15_000),
    (answer) => {
      state.samples = answer.samples
    },
  ),
  source<T.Case>(
    () => inquiry(),
    1000,
    (answer) => {
      state.cases.set(answer.member.id, { at: Date.now(), case: answer })
    },
  ),
]

let turn = 0

/** The path to what is held against a member: the one that is looked at, or those that are suspected. */
function inquiry(): string | null {
  const ids = state.members.filter((m) => m.status === 'suspect').map((m) => m.id)
  const looked = state.members.find((m) => m.id === chosen && !m.self)
  if (looked && !ids.includes(looked.id)) ids.push(looked.id)
  if (ids.length === 0) return null
  return `/v1/members/${ids[turn++ % ids.length]}/why`
}

let timer = 0

/** Asks for everything that is due, and sleeps until the next. */
function wake(): void {
  clearTimeout(timer)
  if (state.connection !== 'live' && state.connection !== 'mute') return
  const at = Date.now()
  let next = at + 1000
  for (const s of sources) {
    if (document.hidden && s !== members) continue
    if (!s.busy && s.due <= at) void fetchOne(s)
    next = Math.min(next, s.busy ? next : s.due)
  }
  timer = window.setTimeout(wake, Math.max(50, next - Date.now()))
}

async function fetchOne(s: Source): Promise<void> {
  const path = s.path()
  s.due = Date.now() + s.every()
  if (path === null) return
  s.busy = true
  try {
    s.take((await ask(path, undefined, s === summaries ? PATIENCE_SLOW : PATIENCE)) as never)
    heard()
  } catch (error) {
    if (error instanceof Refused) {
      if (error.code === 'no_answer') {
        if (state.connection === 'live') state.connection = 'mute'
      } else if (error.code === 'stopped') lost()
      else if (error.status === 401) lock(error.message)
    } else if (s !== summaries) lost()
  } finally {
    s.busy = false
    changed()
  }
}

function soon(s: Source, ms: number): void {
  s.due = Math.min(s.due, Date.now() + ms)
}

function heard(): void {
  state.lastWord = Date.now()
  if (state.connection === 'mute' && Date.now() - state.at.members < 1500) state.connection = 'live'
}

// ---------- the event stream ----------

let stream: AbortController | null = null
/** Where the stream is: the id of its last event, with the run of the agent. */
let place = '0'
let tries = 0
let retry = 0

// Not by `EventSource`, which cannot send a token.
function listen(): void {
  stream?.abort()
  const own = new AbortController()
  stream = own
  const ended = () => {
    if (stream === own) lost()
  }
  follow(own.signal).then(ended, (error) => {
    if (stream === own && error instanceof Refused && error.status === 401) lock(error.message)
    else ended()
  })
}

async function follow(signal: AbortSignal): Promise<void> {
  const init: RequestInit = { signal, cache: 'no-store', headers: credentials() }
  const answer = await fetch(`/v1/events?since=${encodeURIComponent(place)}`, init)
  if (!answer.ok || !answer.body) {
    const json = await answer.json()
    throw new Refused(answer.status, json.code ?? '', json.message ?? answer.statusText)
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data: ')) take(JSON.parse(line.slice(6)))
      else if (line.startsWith('id: ')) place = line.slice(4)
    }
  }
}

function take(event: T.Ev): void {
  heard()
  if (event.event === 'subscribed') {
    state.skew = event.at_ms - Date.now()
    return
  }
  if (event.event === 'lagged') {
    // Another life of the agent, which numbers its events anew: all that it keeps follow.
    if (event.missed === undefined) forget()
    for (const s of sources) soon(s, 0)
  }
  if (!event.seq) return
  state.events.push(event)
  if (state.events.length > EVENTS_MAX) state.events.splice(0, state.events.length - EVENTS_MAX)
  const recent = Math.abs(event.at_ms - state.skew - Date.now()) < 5000
  if (recent) {
    if (/^(up|suspected|down|updated|link)/.test(event.event)) soon(members, 60)
    if (/lead|up|down/.test(event.event)) soon(elections, 60)
    if (/lock|lab|lead/.test(event.event)) soon(locks, 120)
    if (event.event === 'lab') soon(lab, 50)
    clearTimeout(timer)
    timer = window.setTimeout(wake, 60)
  }
  changed()
}

/** Forgets what another life of the agent told. */
function forget(): void {
  state.events = []
  state.cases.clear()
  state.before.clear()
}

/** The agent is gone, or frozen: tries again, less and less often. */
function lost(how: 'gone' | 'mute' = 'gone'): void {
  stream?.abort()
  stream = null
  if (retry || state.connection === 'locked') return
  if (state.connection !== 'loading' || how === 'mute') state.connection = how
  const wait = Math.min(5000, 500 * 2 ** Math.min(tries, 4))
  tries += 1
  state.nextTry = Date.now() + wait
  retry = window.setTimeout(() => {
    retry = 0
    void connect()
  }, wait)
  changed()
}

/** The agent asks for a token, or does not know this one. */
function lock(why: string): void {
  clearTimeout(retry)
  retry = 0
  stream?.abort()
  stream = null
  state.connection = 'locked'
  state.refusal = signedIn() ? why : ''
  changed()
}

export async function connect(): Promise<void> {
  clearTimeout(retry)
  retry = 0
  try {
    const self = await ask<T.Self>('/v1/self')
    // Its events are told from the first one that is kept.
    if (state.self && state.self.run !== self.run) {
      forget()
      place = '0'
    }
    state.self = self
  } catch (error) {
    if (error instanceof Refused && error.status === 401) lock(error.message)
    else {
      if (state.connection === 'locked') state.connection = 'loading'
      lost(error instanceof Refused && error.code === 'no_answer' ? 'mute' : 'gone')
    }
    return
  }
  tries = 0
  state.connection = 'live'
  heard()
  listen()
  for (const s of sources) s.due = 0
  wake()
  changed()
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) {
    wake()
    changed()
  }
})

// ---------- orders ----------

/** Plays with the group; only where the agent was started for that. */
export async function order(body: { do: string } & Record<string, unknown>): Promise<boolean> {
  try {
    await ask('/lab', body)
    state.complaint = ''
  } catch (error) {
    state.complaint = error instanceof Error ? error.message : String(error)
    changed()
    return false
  }
  for (const s of [lab, members, elections, locks]) s.due = 0
  wake()
  changed()
  return true
}
