// Words and numbers for people.

/** Text that came from other machines, without anything that is not shown or reorders what is. */
export function safe(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu,
    '\ufffd',
  )
}

/** Cuts a long name, leaving out the middle. */
export function cut(text: string, max = 32): string {
  const chars = [...safe(text)]
  if (chars.length <= max) return chars.join('')
  const tail = Math.floor((max - 1) / 3)
  return chars.slice(0, max - 1 - tail).join('') + '…' + chars.slice(-tail).join('')
}

export function bytes(n: number): string {
  if (n < 1000) return `${Math.round(n)} B`
  if (n < 1e6) return `${trim(n / 1e3)} kB`
  if (n < 1e9) return `${trim(n / 1e6)} MB`
  return `${trim(n / 1e9)} GB`
}

function trim(x: number): string {
  return x < 10 ? x.toFixed(1) : String(Math.round(x))
}

export function count(n: number): string {
  if (n < 10_000) return String(Math.round(n))
  if (n < 1e6) return `${trim(n / 1e3)}k`
  return `${trim(n / 1e6)}M`
}

/** A span: `340 ms`, `3.1 s`, `12 s`, `4 min`, `3 h 12 min`, `6 d`. */
export function span(ms: number, fine = false): string {
  if (ms < 0) ms = 0
  if (fine && ms < 1000) return `${Math.round(ms)} ms`
  const s = ms / 1000
  if (s < 10) return `${fine || s >= 1 ? s.toFixed(1) : s.toFixed(1)} s`
  if (s < 100) return `${Math.round(s)} s`
  const min = Math.floor(s / 60)
  if (min < 60) return `${min} min`
  const h = Math.floor(min / 60)
  if (h < 48) return min % 60 && h < 12 ? `${h} h ${min % 60} min` : `${h} h`
  return `${Math.floor(h / 24)} d`
}

/** A span in whole seconds while it is short, so that it does not flicker. */
export function calm(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000))
  return s < 100 ? `${s} s` : span(ms)
}

export function rtt(us: number | null): string {
  if (us === null) return '–'
  if (us < 1000) return `${(us / 1000).toFixed(2)} ms`
  return us < 100_000 ? `${(us / 1000).toFixed(1)} ms` : `${Math.round(us / 1000)} ms`
}

export function clock(ms: number, tenths = true): string {
  const d = new Date(ms)
  const two = (n: number) => String(n).padStart(2, '0')
  const text = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
  return tenths ? `${text}.${Math.floor(d.getMilliseconds() / 100)}` : text
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}

/** `a`, `a and b`, `a, b and c`, `a, b, c and 4 more`. */
export function list(names: string[], max = 3): string {
  if (names.length <= 1) return names[0] ?? ''
  const shown = names.length > max ? names.slice(0, max) : names.slice(0, -1)
  const last = names.length > max ? `${names.length - max} more` : names[names.length - 1]
  return `${shown.join(', ')} and ${last}`
}

/** The part of a token that differs between holders, and what surrounds it. */
export function tokenParts(token: string): [string, string, string] {
  const bare = token.replace(/^0+/, '')
  const zeros = token.slice(0, token.length - bare.length)
  return [zeros, bare.slice(0, 8), bare.slice(8)]
}

const ENDS: Record<string, string> = {
  failed: 'the leader failed',
  silent: 'the leader fell silent',
  left: 'the leader left',
  restarted: 'the leader restarted',
  resigned: 'it resigned',
  handed_over: 'handed over',
  replaced: 'another took over',
  renewed: 'elected again',
}

export function ended(word: string | null): string {
  return word ? (ENDS[word] ?? word) : ''
}
