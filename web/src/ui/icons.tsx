// Shapes. A state is told by its shape and its word; colour only repeats it.

import type { JSX } from 'preact'

const GLYPHS: Record<string, JSX.Element> = {
  alive: <circle cx="8" cy="8" r="6" fill="currentColor" />,
  suspect: (
    <>
      <path d="M8 1.2 15.2 14H.8z" fill="currentColor" stroke="currentColor" stroke-width="1.2" stroke-linejoin="round" />
      <path d="M8 6v3.6M8 11.6v.2" class="inner" stroke-width="1.7" stroke-linecap="round" />
    </>
  ),
  failed: <path d="M3 3l10 10M13 3 3 13" stroke="currentColor" stroke-width="3" stroke-linecap="round" />,
  crash: <path d="M8 1.6a6.4 6.4 0 1 0 0 12.8 6.4 6.4 0 0 0 0-12.8M3.5 12.5l9-9" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" />,
  left: <rect x="2" y="6.6" width="12" height="2.8" rx="1.4" fill="currentColor" />,
  beyond: <circle cx="8" cy="8" r="5.6" fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="2.6 2.2" />,
  paused: <path d="M5 3v10M11 3v10" stroke="currentColor" stroke-width="3" stroke-linecap="round" />,
  crown: (
    <path d="M1.5 4.2 4.9 7 8 2l3.1 5 3.4-2.8-1.2 9.3H2.7z" fill="currentColor" stroke="currentColor" stroke-width=".8" stroke-linejoin="round" />
  ),
  vacant: (
    <path d="M1.8 4.2 4.9 7 8 2.4 11.1 7l3.1-2.8-1.1 9H2.9z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2 1.6" stroke-linejoin="round" />
  ),
  key: (
    <>
      <rect x="2.6" y="7" width="10.8" height="7.4" rx="1.8" fill="currentColor" />
      <path d="M5 7V5a3 3 0 0 1 6 0v2" fill="none" stroke="currentColor" stroke-width="1.8" />
    </>
  ),
  join: (
    <>
      <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M8 5v6M5 8h6" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" />
    </>
  ),
  refute: (
    <>
      <circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M5 8.2 7.2 10.4 11 6" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" />
    </>
  ),
  split: (
    <>
      <path d="M6.8 1.5a6.5 6.5 0 0 0 0 13z" fill="currentColor" />
      <path d="M9.8 2.2a5.8 5.8 0 0 1 0 11.6z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" />
    </>
  ),
  flask: (
    <path d="M6 1.8h4M6.8 1.8v4.4L2.6 13a1 1 0 0 0 .9 1.4h9a1 1 0 0 0 .9-1.4L9.2 6.2V1.8M4.6 10h6.8" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
  ),
  message: <path d="M2 3.5h12v7.4H7.4L4.2 13.6v-2.7H2z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" />,
  edit: <path d="M3 13l.7-3L10.9 2.8l2.3 2.3L6 12.3zM9.4 4.3l2.3 2.3" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linejoin="round" />,
  dot: <circle cx="8" cy="8" r="3" fill="currentColor" />,
  overview: <path d="M1.5 8.5h3l2-5 3 9 2-4h3" {...{ fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' }} />,
  map: (
    <g fill="none" stroke="currentColor" stroke-width="1.5">
      <circle cx="3.6" cy="4" r="2" />
      <circle cx="12.4" cy="4.6" r="2" />
      <circle cx="7.4" cy="12.2" r="2" />
      <path d="M5.5 4.2 10.4 4.5M4.5 5.8l2 4.5M11.4 6.4 8.4 10.4" />
    </g>
  ),
  members: <path d="M6 3.5h8.5M6 8h8.5M6 12.5h8.5M1.8 3.5h1M1.8 8h1M1.8 12.5h1" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />,
  elections: <path d="M2 4.5 5 7l3-4.5L11 7l3-2.5-1 8.5H3z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" />,
  locks: (
    <g fill="none" stroke="currentColor" stroke-width="1.5">
      <rect x="2.8" y="7" width="10.4" height="7" rx="1.6" />
      <path d="M5.2 7V5a2.8 2.8 0 0 1 5.6 0v2" />
    </g>
  ),
  timeline: (
    <g fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round">
      <path d="M3.5 2v12M3.5 5.5h5M3.5 11h5" />
      <circle cx="10.6" cy="5.5" r="1.8" />
      <circle cx="10.6" cy="11" r="1.8" />
    </g>
  ),
  traffic: <path d="M5 13V3M5 3 2.4 5.6M5 3l2.6 2.6M11 3v10M11 13l-2.6-2.6M11 13l2.6-2.6" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />,
}

export function Icon({ id, tone = '', title, size }: { id: string; tone?: string; title?: string; size?: number }) {
  const a11y = title ? { role: 'img' as const, 'aria-label': title } : { 'aria-hidden': true as const }
  return (
    <svg class={`g ${tone}`} viewBox="0 0 16 16" width={size} height={size} {...a11y}>
      {title && <title>{title}</title>}
      {GLYPHS[id] ?? GLYPHS.dot}
    </svg>
  )
}

/** A glyph inside another drawing. */
export function Glyph({ id, x, y, size = 16, tone = '' }: { id: string; x: number; y: number; size?: number; tone?: string }) {
  return (
    <svg x={x - size / 2} y={y - size / 2} width={size} height={size} viewBox="0 0 16 16" class={tone}>
      {GLYPHS[id] ?? GLYPHS.dot}
    </svg>
  )
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 26 26" aria-hidden="true">
      <circle cx="13" cy="13" r="9.2" fill="none" class="ring" stroke-width="1.6" />
      <g fill="currentColor">
        <circle cx="21" cy="8.4" r="2.6" />
        <circle cx="21" cy="17.6" r="2.6" />
        <circle cx="13" cy="22.2" r="2.6" />
        <circle cx="5" cy="17.6" r="2.6" />
        <circle cx="5" cy="8.4" r="2.6" />
      </g>
      <circle cx="13" cy="3.9" r="3.6" class="leader" fill="currentColor" />
    </svg>
  )
}
