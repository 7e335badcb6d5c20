// Small parts that several views use.

import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { label, nameOf, statusOf } from '../derive'
import { safe, tokenParts } from '../format'
import { parts } from '../health'
import { Icon } from './icons'

export { Seg } from './seg'

export function Card(p: { title?: string; right?: ComponentChildren; class?: string; children: ComponentChildren; pad?: boolean }) {
  return (
    <section class={`card ${p.class ?? ''}`}>
      {p.title && (
        <header>
          <h2>{p.title}</h2>
          {p.right && <span class="r">{p.right}</span>}
        </header>
      )}
      {p.pad === false ? p.children : <div class="b">{p.children}</div>}
    </section>
  )
}

export function Page(p: { title: string; sub: ComponentChildren; right?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="view">
      <div class="pg">
        <div>
          <h1>{p.title}</h1>
          <p>{p.sub}</p>
        </div>
        {p.right && <div class="r">{p.right}</div>}
      </div>
      {p.children}
    </div>
  )
}

/** A link to a member's page. */
export function Who({ id, name, bold = true }: { id: string; name?: string; bold?: boolean }) {
  const text = nameOf(id, name)
  return (
    <a class={bold ? 'who strong' : 'who'} href={`#/members/${id}`} title={safe(name ?? '') || id}>
      <bdi>{text}</bdi>
    </a>
  )
}

/** A text whose names are links. */
export function Linked({ text }: { text: string }) {
  return <>{parts(text).map((p, i) => (p.to ? <a key={i} class="name" href={`#/${p.to}`}><bdi>{p.text}</bdi></a> : whole(p.text)))}</>
}

/** A number stays on one line with its unit. */
const whole = (text: string) => text.replace(/(\d) (ms|s|min|h|d)\b/g, '$1\u00a0$2')

/** A number, and its unit in smaller letters. */
export function Unit({ text, after = '' }: { text: string; after?: string }) {
  const [number, unit = ''] = text.split(' ')
  return <>{number} <small>{unit}{after}</small></>
}

export function StateOf({ id }: { id: string }) {
  const status = statusOf(id)
  return <Icon id={status} tone={status} title={status} />
}

export function Token({ token }: { token: string }) {
  const [zeros, head, tail] = tokenParts(token)
  return (
    <span class="mono token" title={token}>
      <span class="t3">{zeros}</span>
      <b>{head}</b>
      <span class="t3 cutoff">{tail}</span>
    </span>
  )
}

/** Six bars: the fewer failures, the more are filled. */
export function Rank({ bucket }: { bucket: number }) {
  const on = Math.max(1, 6 - Math.round(bucket / 2.4))
  return (
    <span class="rank" aria-hidden="true">
      {[0, 1, 2, 3, 4, 5].map((i) => (
        <i key={i} class={`h${i} ${i < on ? 'on' : ''}`} />
      ))}
    </span>
  )
}

export function Shell({ command }: { command: string }) {
  return (
    <div class="shell">
      <span class="t3">Same from a shell</span>
      <code class="mono">{command}</code>
    </div>
  )
}

/** A lease as a bar that drains. Renewed at two thirds: below the mark is news. */
export function Lease({ left, ttl, dead, name }: { left: number; ttl: number; dead: boolean; name: string }) {
  const share = Math.max(0, Math.min(1, left / ttl))
  const kind = dead ? 'dead' : share < 0.4 ? 'late' : ''
  const bar = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    if (bar.current) bar.current.style.width = `${share * 100}%`
  })
  return (
    <div class="lease" role="meter" aria-label={`Lease of ${name}`} aria-valuemin={0} aria-valuemax={Math.round(ttl / 100) / 10} aria-valuenow={Math.round(left / 100) / 10} aria-valuetext={`${(left / 1000).toFixed(1)} seconds left`}>
      <i ref={bar} class={kind} />
      <u />
    </div>
  )
}

/** The width of an element, and again when it changes. */
export function useWidth<E extends HTMLElement>(): [RefObject<E | null>, number] {
  const ref = useRef<E>(null)
  const [width, set] = useState(0)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new ResizeObserver(() => set(Math.floor(element.clientWidth)))
    observer.observe(element)
    set(Math.floor(element.clientWidth))
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}

export function Tags({ tags, max = 3 }: { tags: Record<string, string>; max?: number }) {
  const all = Object.entries(tags)
  const zone = all.filter(([key]) => key === 'zone')
  const rest = all.filter(([key]) => key !== 'zone')
  const shown = [...zone, ...rest].slice(0, max)
  return (
    <>
      {shown.map(([key, value]) => (
        <span class="tag" key={key} title={`${safe(key)}=${safe(value)}`}>
          <bdi>{key === 'zone' ? text(value) : `${text(key)} ${text(value)}`}</bdi>
        </span>
      ))}
      {all.length > max && <span class="t3 xs"> +{all.length - max}</span>}
    </>
  )
}

function text(value: string): string {
  const chars = [...safe(value)]
  return chars.length > 18 ? chars.slice(0, 17).join('') + '…' : chars.join('')
}

export { label }
