// Browser tests of the dashboard against real nodes. `node tests/run.mjs [name ...]` runs some of them.

import * as dashboard from './cases.mjs'
import { findChromium, launch, up } from './harness.mjs'
import * as simulations from './watch.mjs'

const cases = { ...dashboard, ...simulations }

if (!findChromium()) {
  console.error('SKIPPED: no chromium (set CHROMIUM, or install Debian’s package chromium)')
  process.exit(3)
}

// Those that share a group run one after the other; each leaves it as it found it.
const SHARED = ['failover', 'locks', 'handover', 'partition', 'islands', 'filters', 'traffic', 'buttons', 'accessibility', 'phone', 'reconnect']
const ALONE = ['deployed', 'restart', 'hostile', 'guess', 'components', 'keyed', 'states', 'dense', 'permits', 'token', 'scene', 'watch', 'duel', 'storm', 'others', 'smooth']

const wanted = process.argv.slice(2)
const chosen = (name) => wanted.length === 0 || wanted.includes(name)
const browser = await launch()
const group = SHARED.some(chosen) ? await up(5) : null
let failed = 0
let skipped = 0
const begun = Date.now()
try {
  for (const name of [...SHARED, ...ALONE].filter(chosen)) {
    const start = Date.now()
    const seconds = () => ((Date.now() - start) / 1000).toFixed(1)
    try {
      if (SHARED.includes(name)) await cases.tidy(group.base)
      const note = await cases[name](browser, group)
      // A case that could not be measured is no success: ./check counts the lines that begin with this word.
      const reason = note?.match(/^SKIPPED: (.*)/)?.[1]
      if (reason) skipped += 1
      console.log(reason ? `SKIPPED ${name}: ${reason}` : `ok    ${name} (${seconds()} s)${note ? `  ${note}` : ''}`)
    } catch (error) {
      failed += 1
      console.log(`FAIL  ${name} (${seconds()} s)\n      ${error.message.replaceAll('\n', '\n      ')}`)
    }
  }
} finally {
  await browser.close()
  await group?.stop()
}
const passed = skipped ? `passed, ${skipped} skipped,` : 'all passed'
console.log(`${failed ? `${failed} failed` : passed} in ${((Date.now() - begun) / 1000).toFixed(0)} s`)
process.exit(failed ? 1 : 0)
