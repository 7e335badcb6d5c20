import { useState } from 'preact/hooks'
import { Seg } from './seg'
import { applyTheme, theme, type Theme } from './theme'

const OPTIONS = [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']] as const

export function ThemeSwitch() {
  const [chosen, set] = useState<Theme>(theme())
  return (
    <Seg
      label="Theme"
      options={OPTIONS}
      value={chosen}
      set={(value) => {
        set(value)
        applyTheme(value)
      }}
    />
  )
}
