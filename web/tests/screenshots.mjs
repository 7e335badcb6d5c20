// Makes screenshots of every view in light, dark and on a phone, to be looked at: `npm run screenshots [directory]`, by default
// target/screenshots. The group has a failed member, a leader that took over, and a lock that is held and waited for.

import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { get, launch, open, run, sleep, until } from './harness.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const directory = process.argv[2] ?? join(root, 'target', 'screenshots')
const VIEWS = ['overview', 'members', 'map', 'elections', 'locks', 'timeline', 'traffic']
const LOOKS = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
}

mkdirSync(directory, { recursive: true })
const args = ['up', '--nodes', '7', '--http', '127.0.0.1:0', '--bind', '127.0.0.1:0', '--group', 'yard-fleet', '--period', '300ms']
const group = run(args, /Dashboard:\s+(http:\S+)\//)
const base = (await group.started)[1]
const browser = await launch()
try {
  const order = (body) =>
    fetch(`${base}/lab`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const leader = await until('somebody leads', async () => {
    const { nodes } = await get(base, '/lab')
    const leader = nodes.find((n) => n.id === nodes[0].leader)
    if (leader?.number === 1) await order({ do: 'resign', node: 1 })
    return leader && leader.number !== 1 ? leader.number : null
  })
  const [holder, waiter] = [2, 3, 4].filter((n) => n !== leader)
  await order({ do: 'lock', node: holder })
  await sleep(3000)
  await order({ do: 'lock', node: waiter })
  const { page, close } = await open(browser, base)
  await order({ do: 'kill', node: leader })
  await until('somebody took over', async () => (await page.innerText('.health h1')).includes('took over'), 60)
  await close()
  const { nodes } = await get(base, '/lab')
  const failed = nodes.find((n) => n.number === leader)
  for (const [look, options] of Object.entries(LOOKS)) {
    const { page, go, calm, close } = await open(browser, base, options)
    for (const view of [...VIEWS, `members/${failed.id}`]) {
      await go(view)
      await sleep(1500)
      const file = join(directory, `${view.split('/').length > 1 ? 'member' : view}-${look}.png`)
      await page.screenshot({ path: file })
      console.log(`wrote ${file}`)
    }
    calm()
    await close()
  }
} finally {
  await browser.close()
  await group.stop()
}
