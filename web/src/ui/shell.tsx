// What surrounds every view: navigation, whose view it is, what to do when the agent is gone.

import { useEffect, useState } from 'preact/hooks'
import { counts, label, split } from '../derive'
import { clock, cut, plural, span } from '../format'
import { connect, lookAt, signedIn, signIn, signOut, state, useStore } from '../store'
import { Elections } from '../views/elections'
import { Locks } from '../views/locks'
import { MapView } from '../views/map'
import { Members } from '../views/members'
import { Overview } from '../views/overview'
import { Timeline } from '../views/timeline'
import { Traffic } from '../views/traffic'
import { Icon, Logo } from './icons'
import { Lab } from './lab'
import { ThemeSwitch } from './theme-switch'

const VIEWS = [
  ['overview', 'Overview'],
  ['map', 'Map'],
  ['members', 'Members'],
  ['elections', 'Elections'],
  ['locks', 'Locks'],
  ['timeline', 'Timeline'],
  ['traffic', 'Traffic'],
] as const

export interface Route {
  view: string
  item: string | null
}

function route(): Route {
  const [view, item] = location.hash.replace(/^#\/?/, '').split('/')
  const known = VIEWS.some(([key]) => key === view)
  let decoded: string | null = null
  try {
    decoded = item ? decodeURIComponent(item) : null
  } catch {
    // Typed by hand: no item.
  }
  return { view: known ? view : 'overview', item: decoded }
}

export function App() {
  useStore(1000)
  const [at, go] = useState(route())
  const [sheet, setSheet] = useState(false)
  useEffect(() => {
    const moved = () => {
      go(route())
      document.querySelector('main')?.scrollTo(0, 0)
    }
    window.addEventListener('hashchange', moved)
    return () => window.removeEventListener('hashchange', moved)
  }, [])
  useEffect(() => lookAt(at.view, at.view === 'members' || at.view === 'map' ? at.item : null), [at.view, at.item])
  const name = state.self ? label(state.self) : '…'
  const group = state.self ? cut(state.self.group) : 'Consort'
  useEffect(() => {
    document.title = `${VIEWS.find(([key]) => key === at.view)![1]} · ${group}`
  }, [at.view, group])
  const gone = state.connection === 'gone'
  const n = counts()
  const far = split()?.far.size ?? 0
  const badge = (key: string) => {
    if (key === 'members') {
      if (far) return <><Icon id="beyond" tone="left" title="on the other side" />{far}</>
      if (!n.suspect && !n.failed) return <>{n.all || ''}</>
      return (
        <>
          {n.suspect > 0 && <><Icon id="suspect" tone="suspect" title="suspected" />{n.suspect}</>}
          {n.failed > 0 && <><Icon id="failed" tone="failed" title="failed" />{n.failed}</>}
        </>
      )
    }
    if (key === 'elections') return <>{state.elections.length || ''}</>
    if (key === 'locks') return <>{state.locks?.locks.length || ''}</>
    return null
  }
  const live = (
    <div class="live">
      <i class={state.connection} />
      {state.connection === 'live' && <span>Live, as <b><bdi>{name}</bdi></b> sees it</span>}
      {state.connection === 'mute' && <span><b><bdi>{name}</bdi></b> does not answer</span>}
      {gone && <span>Last word at <b>{clock(state.lastWord, false)}</b></span>}
      {state.connection === 'loading' && <span>Connecting…</span>}
      {state.connection === 'locked' && <span>Signed out</span>}
    </div>
  )
  return (
    <div class={`app ${gone ? 'is-gone' : ''} ${sheet ? 'labopen' : ''}`}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus() }}>Skip to content</a>
      <nav class="nav" aria-label="Views">
        <div class="brand">
          <Logo />
          <div>
            <b><bdi>{group}</bdi></b>
            <span class="xs t3">{n.all === 1 ? 'only this node' : n.all ? `group of ${n.all}` : ' '}</span>
          </div>
        </div>
        {VIEWS.map(([key, text]) => (
          <a key={key} href={`#/${key}`} aria-current={key === at.view ? 'page' : undefined}>
            <Icon id={key} /> {text}
            <span class="n">{badge(key)}</span>
          </a>
        ))}
        <div class="foot">
          {live}
          {signedIn() && state.connection === 'live' && (
            <button type="button" class="btn" onClick={signOut}>Sign out</button>
          )}
          <ThemeSwitch />
          <span class="xs t3">{state.self ? `consort ${cut(state.self.version, 20)}` : ' '} · <a href="./licenses.txt">licenses</a></span>
        </div>
      </nav>
      <header class="top">
        <Logo />
        <b><bdi>{group}</bdi></b>
        {live}
        {state.lab && (
          <button type="button" class="btn labbtn" aria-expanded={sheet} onClick={() => setSheet(!sheet)}>
            <Icon id="flask" tone="suspect" /> Lab
          </button>
        )}
      </header>
      <main id="main" tabIndex={0}>
        {gone && <Gone />}
        {state.connection === 'locked' && <SignIn />}
        {state.connection === 'mute' && (
          <p class="stale" role="status">
            <Icon id="paused" /> {name} does not answer: it is paused or overloaded. What is shown is from {clock(state.at.members, false)}.
          </p>
        )}
        {state.lab?.caption && !gone && <p class="caption" role="status"><Icon id="flask" tone="suspect" /> {state.lab.caption}</p>}
        {state.connection !== 'locked' && (
          <>
            {at.view === 'overview' && <Overview />}
            {at.view === 'map' && <MapView chosen={at.item} />}
            {at.view === 'members' && <Members chosen={at.item} />}
            {at.view === 'elections' && <Elections chosen={at.item} />}
            {at.view === 'locks' && <Locks chosen={at.item} />}
            {at.view === 'timeline' && <Timeline />}
            {at.view === 'traffic' && <Traffic />}
          </>
        )}
      </main>
      {state.lab && <Lab open={sheet} close={() => setSheet(false)} chosen={at.item} />}
      {sheet && <div class="scrim" onClick={() => setSheet(false)} />}
      <nav class="tabs" aria-label="Views">
        {VIEWS.map(([key, text]) => (
          <a key={key} href={`#/${key}`} aria-current={key === at.view ? 'page' : undefined}>
            <Icon id={key} />
            {text}
          </a>
        ))}
      </nav>
    </div>
  )
}

/** Asks for a token. It is kept until the tab is closed. */
function SignIn() {
  const [token, set] = useState('')
  const send = (e: Event) => {
    e.preventDefault()
    if (token.trim()) signIn(token)
  }
  return (
    <form class="signin" onSubmit={send}>
      <label for="token">This agent asks for a token. It is one of those in its token file.</label>
      <input id="token" type="password" autocomplete="current-password" value={token} onInput={(e) => set(e.currentTarget.value)} />
      <button type="submit" class="btn">Sign in</button>
      {state.refusal && <p role="alert">{state.refusal}</p>}
    </form>
  )
}

function Gone() {
  const others = (state.lab?.nodes ?? []).filter((n) => n.id !== state.self?.id && n.state === 'running' && !n.http.startsWith('unix:'))
  const wait = Math.max(0, state.nextTry - Date.now())
  return (
    <div class="stale" role="status">
      <Icon id="suspect" />
      <span>
        {state.self ? <bdi>{label(state.self)}</bdi> : 'The agent'} does not answer since {clock(state.lastWord, false)}. Next try {wait < 1000 ? 'now' : `in ${span(wait)}`}; this page comes back by itself.
        {others.length > 0 && (
          <> Other nodes of this group show it as well:{' '}
            {others.slice(0, 4).map((n) => <a key={n.id} href={`http://${n.http}/${location.hash}`}>{cut(n.name)} </a>)}
          </>
        )}
      </span>
      <button type="button" class="btn" onClick={() => void connect()}>Try now</button>
    </div>
  )
}

export { plural }
