// Makes the picture of the README: the dashboard while another node takes over. `npm run picture`

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { get, launch, open, run, sleep, until } from './harness.mjs'

const out = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs', 'dashboard.png')
const args = ['up', '--nodes', '7', '--http', '127.0.0.1:0', '--bind', '127.0.0.1:0', '--group', 'yard-fleet']
const group = run(args, /Dashboard:\s+(http:\S+)\//)
const base = (await group.started)[1]
const browser = await launch()
try {
  const order = (body) =>
    fetch(`${base}/lab`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const { page } = await open(browser, base, { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1.25 })
  const cast = () =>
    until('a leader beside the node that is looked at', async () => {
      const { nodes } = await get(base, '/lab')
      const leader = nodes.find((n) => n.id === nodes[0].leader)
      if (leader?.number === 1) await order({ do: 'resign', node: 1 })
      return leader && leader.number !== 1 ? { leader, others: nodes.filter((n) => n.number > 1 && n !== leader) } : null
    })
  const { leader, others } = await cast()
  await order({ do: 'lock', node: others[0].number })
  await sleep(9000)
  await order({ do: 'lock', node: leader.number })
  await sleep(1500)
  await order({ do: 'unlock', node: others[0].number })
  await sleep(9000)
  await order({ do: 'lock', node: others[1].number })
  await sleep(4000)
  await order({ do: 'kill', node: leader.number })
  await until('somebody took over', async () => (await page.innerText('.health h1')).includes('took over'))
  await sleep(2500)
  await page.screenshot({ path: out })
  console.log(`wrote ${out}`)
} finally {
  await browser.close()
  await group.stop()
}
