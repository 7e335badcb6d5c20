// What the HTTP interface of an agent answers: the parts that this page reads. See crates/client/src/api.

export type Status = 'alive' | 'suspect' | 'failed' | 'left'

export interface Member {
  name: string
  id: string
  status: Status
  address: string
  life: number
  incarnation: number
  tags: Record<string, string>
  rtt_us: number | null
  health_percent: number
  suspicions: number
  refutations: number
  accuser: string | null
  reliability: { bucket: number; per_week_milli: number; failures_milli: number; observed_s: number }
  heard_ms: number | null
  since_ms: number | null
  place: [number, number, number, number] | null
  key?: string | null
  certificate?: number | null
  roles?: string[] | null
  self: boolean
}

export interface Readiness {
  synced: boolean
  mature: boolean
  matures_in_ms: number
  members?: number
  needed?: number
  here?: number
}

export interface Self extends Member {
  group: string
  version: string
  run: string
  uptime_ms: number
  positions: boolean
  topology: boolean
  lab: boolean
  locks: Readiness
}

export interface Leader {
  name: string
  id: string
  token: string
  term: number
  stage: string
  degraded: boolean
  handed_over?: boolean
  scope?: { size: number; share_percent: number; since_ms: number } | null
  self: boolean
}

export interface Term {
  name: string
  id: string
  token: string
  term: number
  from_ms: number
  until_ms: number | null
  ended: string | null
  partly: boolean
}

export interface Candidate {
  name: string
  id: string
  class: number
  attribute: number
  centrality: number
  reliability: number
  compared: 'leads' | 'better' | 'worse' | null
  by: string | null
  settled: boolean
  suspect: boolean
}

export interface Churn {
  missing: number
  missing_rate: number
  trials: number
  quorum: number
  hedge: number
  miss_chance: number
  silent_per_mille: number
  known: number
}

export interface Election {
  name: string
  id: string
  leader: Leader | null
  vacant: boolean
  scope: { size: number; share_percent: number } | null
  role: string
  acting: string | null
  valid_for_ms: number
  grace_ms: number
  /** When a better candidate replaces the leader, by the settings of the agent that answers. */
  preempt?: { when: string; delta?: number; hold_ms?: number } | null
  electing: boolean
  churn: Churn | null
  candidates: Candidate[]
  score: string[]
  terms: Term[]
}

export interface Contender {
  name: string
  id: string
  mode: 'exclusive' | 'shared'
  held: boolean
  token: string
  left_ms: number
  behind: number
  own_word: boolean
  supporters?: number
  waited_ms: number | null
}

export interface Turn {
  name: string
  id: string
  token: string
  from_ms: number
  until_ms: number | null
  waited_ms: number | null
  ended: string | null
  partly: boolean
}

export interface Lock {
  name: string
  id: string
  /** The number of the slot, if it is one of a semaphore. */
  slot?: number
  /** The number of permits of the semaphore, if a contender told. */
  permits?: number
  /** Set where the slots of a semaphore are one: see `semaphores`. */
  semaphore?: boolean
  held: boolean
  waiting: number
  contenders: Contender[]
  turns: Turn[]
}

export interface Locks {
  locks: Lock[]
  readiness: Readiness
  defaults: { ttl_ms: number; bound: string; memory_ms: number }
  idle: Lock[]
}

export interface Ev {
  seq: number
  cause?: number
  at_ms: number
  event: string
  reason?: string
  member?: Member
  life?: number
  by?: string
  missed?: number
  election?: string
  election_id?: string
  leader?: Leader
  token?: string
  lock?: string
  waited_ms?: number
  held_ms?: number
  message?: { name: string; payload?: string }
  run?: string
}

export interface Case {
  member: Member
  accusers: { id: string; name: string; heard_ms: number }[]
  suspected_ms: number | null
  verdict_in_ms: number | null
  down_ms: number | null
  why: string | null
  forgotten_in_ms: number | null
  heard_ms: number
}

export interface Topology {
  neighbours: { id: string; name: string; state: string; quality_percent: number }[]
  component: string
  members: { id: string; name: string; closeness: number; neighbours: string[]; leads: string[] }[]
  links: [string, string][]
  apart: { id: string; name: string }[]
}

export interface Sample {
  at_ms: number
  bytes_in: number
  bytes_out: number
  datagrams_in: number
  datagrams_out: number
  probes: number
  probes_failed: number
  accusations: number
}

export type Counters = { [key: string]: number | Counters }

/** What a member tells about itself. */
export interface Summary {
  name: string
  id: string
  age_ms: number
  after_ms: number
  version: string
  uptime_ms: number
  members: number
  members_hash: string
  datagrams_in: number
  datagrams_out: number
  bytes_in: number
  bytes_out: number
  dropped: number
  probes: number
  probes_failed: number
  accusations: number
  refutations: number
}

export interface Summaries {
  summaries: Summary[]
  missing: { name: string; id: string; reason: string }[]
  asked_max: number
  every_ms: number
}

export interface LabNode {
  number: number
  name: string
  id: string
  http: string
  state: 'running' | 'paused' | 'stopped'
  isolated: boolean
  far: boolean
  loss_percent: number
  delay_ms: number
  locks: [string, boolean][]
  sees: string[] | null
  leader: string | null
  stands: boolean | null
}

export interface Lab {
  election: string
  period_ms: number
  nodes: LabNode[]
  /** What the scene that is played says. */
  caption: string | null
}
