// Light, dark, or as the system has it.

export type Theme = 'auto' | 'light' | 'dark'

export function theme(): Theme {
  try {
    const kept = localStorage.getItem('consort-theme')
    return kept === 'light' || kept === 'dark' ? kept : 'auto'
  } catch {
    return 'auto'
  }
}

export function applyTheme(chosen: Theme = theme()): void {
  const root = document.documentElement
  if (chosen === 'auto') root.removeAttribute('data-theme')
  else root.dataset.theme = chosen
  try {
    localStorage.setItem('consort-theme', chosen)
  } catch {
    // It is not kept, then.
  }
  window.dispatchEvent(new Event('themechange'))
}
