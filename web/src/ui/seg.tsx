import type { ComponentChildren } from 'preact'

/** One of a few options, of which one is pressed. */
export function Seg<V extends string>(p: { options: readonly (readonly [V, ComponentChildren])[]; value: V; set: (v: V) => void; label: string }) {
  return (
    <div class="seg" role="group" aria-label={p.label}>
      {p.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={value === p.value} onClick={() => p.set(value)}>
          {text}
        </button>
      ))}
    </div>
  )
}
