// What happened, and because of what.

import { useRef, useState } from 'preact/hooks'
import { aside, headline, iconOf, kindOf, stories, type Story } from '../derive'
import { clock, plural, span } from '../format'
import { state, useStore } from '../store'
import { Page } from '../ui/bits'
import { Icon } from '../ui/icons'
import type { Ev } from '../types'

const FILTERS = [
  ['all', 'Everything', ''],
  ['members', 'members', 'alive'],
  ['leaders', 'leaders', 'crown'],
  ['locks', 'locks', 'key'],
  ['messages', 'messages', 'message'],
  ['links', 'links', ''],
] as const

const STORIES_MAX = 60
const ROWS_MAX = 12

export function Timeline() {
  useStore(2000)
  const [filter, setFilter] = useState<string>('all')
  const [text, setText] = useState('')
  const [held, setHeld] = useState<number | null>(null)
  const list = useRef<HTMLDivElement>(null)
  const newest = state.events.at(-1)?.seq ?? 0
  const until = held ?? newest
  const events = state.events.filter((e) => e.seq <= until)
  const wanted = (s: Story) =>
    (filter === 'all' || s.events.some((e) => kindOf(e) === filter)) &&
    (!text || s.events.some((e) => headline(e).toLowerCase().includes(text.toLowerCase())))
  const all = stories(events).filter(wanted)
  // Nothing moves under the pointer or the focus.
  const hold = () => setHeld((h) => h ?? newest)
  const release = () => {
    if (!list.current?.matches(':hover, :focus-within')) setHeld(null)
  }
  const fresh = newest - until
  return (
    <Page
      title="Timeline"
      sub="What happened, and because of what. Newest story first; inside a story, cause before effect."
      right={
        <div class="chips">
          <label class="search">
            <span class="sr">Search</span>
            <input type="search" placeholder="Search" value={text} onInput={(e) => setText(e.currentTarget.value)} />
          </label>
          {FILTERS.map(([key, name, icon]) => (
            <button key={key} type="button" class="chip" aria-pressed={filter === key} onClick={() => setFilter(key)}>
              {icon && <Icon id={icon} tone={icon === 'crown' ? 'leader' : icon === 'key' ? 'lock' : icon} />} {name}
            </button>
          ))}
        </div>
      }
    >
      {fresh > 0 && <button type="button" class="btn fresh" onClick={() => setHeld(null)}>{plural(fresh, 'new event')}</button>}
      <div ref={list} onPointerEnter={hold} onPointerLeave={release} onFocusIn={hold} onFocusOut={() => setTimeout(release, 0)}>
        {all.slice(0, STORIES_MAX).map((s) => <StoryCard key={s.id} story={s} />)}
      </div>
      {all.length === 0 && <p class="t3 idle">{state.events.length ? 'No event matches.' : 'Nothing has happened since this agent runs.'}</p>}
      {all.length > STORIES_MAX && <p class="t3 idle">{plural(all.length - STORIES_MAX, 'older story', 'older stories')}: <code class="mono">curl -N '/v1/events?since=0'</code> has all that is kept.</p>}
    </Page>
  )
}

function StoryCard({ story }: { story: Story }) {
  const [open, setOpen] = useState(false)
  const rows = open ? story.events : story.events.slice(0, ROWS_MAX)
  const more = story.events.length - rows.length
  if (story.events.length === 1) {
    const e = story.events[0]
    const [icon, tone] = iconOf(e)
    return (
      <section class="card ep one" aria-label={story.title}>
        <time class="mono tm" dateTime={new Date(e.at_ms).toISOString()}>{clock(e.at_ms)}</time>
        <Icon id={icon} tone={tone} />
        <h2><bdi>{headline(e)}</bdi> <span class="because"><bdi>{aside(e)}</bdi></span></h2>
      </section>
    )
  }
  return (
    <section class="card ep" aria-label={story.title}>
      <header>
        <Icon id={story.icon} tone={story.tone} />
        <h2><bdi>{story.title}</bdi></h2>
        <span class="r">{story.note}</span>
      </header>
      <ol>
        {rows.map((e, i) => (
          <EventRow key={e.seq} e={e} before={rows[i - 1]} first={i === 0} last={i === rows.length - 1} branch={branches(rows, i)} again={branches(rows, i - 1)} end={rows.slice(i).every((_, k) => branches(rows, i + k))} />
        ))}
      </ol>
      {more > 0 && <button type="button" class="btn more" onClick={() => setOpen(true)}>{plural(more, 'more event')}</button>}
    </section>
  )
}

/** Locks in a story of members stand aside: no detector decides them. */
function branches(rows: Ev[], i: number): boolean {
  return i > 0 && kindOf(rows[i]) === 'locks' && rows.some((e) => kindOf(e) === 'members')
}

export function EventRow({ e, before, first, last, branch = false, again = false, end = false }: { e: Ev; before?: Ev; first: boolean; last: boolean; branch?: boolean; again?: boolean; end?: boolean }) {
  const [icon, tone] = iconOf(e)
  const gap = before ? e.at_ms - before.at_ms : 0
  return (
    <li class={`ev ${first ? 'first' : ''} ${last ? 'last' : ''} ${branch ? 'branch' : ''} ${branch && again ? 'again' : ''} ${end ? 'end' : ''}`}>
      <time class="mono tm" dateTime={new Date(e.at_ms).toISOString()}>{clock(e.at_ms)}</time>
      <span class="gap">{before && gap >= 50 ? `+${span(gap, true)}` : ''}</span>
      <span class="rail"><Icon id={icon} tone={tone} /></span>
      <span class="x"><bdi>{headline(e)}</bdi> <span class="because"><bdi>{aside(e)}</bdi></span></span>
    </li>
  )
}
