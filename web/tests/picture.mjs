// Makes the pictures of the documentation: the dashboard while another node takes over, two simulations side by side, and the
// recording of the terminal. `npm run picture`, or with a name: `npm run picture watch`.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { consort, get, launch, open, run, sleep, until } from './harness.mjs'

const docs = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs')
const wanted = process.argv[2]

async function watch() {
  const directory = mkdtempSync(join(tmpdir(), 'consort-picture-'))
  const files = ['swim', 'medley'].map((protocol) => {
    const file = join(directory, `${protocol}.rec`)
    const made = spawnSync(consort, ['sim', 'membership', '--nodes', '200', '--failures', '5', '--duration', '6000', '--warmup', '3000', '--protocol', protocol, '--record', file])
    if (made.status !== 0) throw new Error(String(made.stderr))
    return file
  })
  const theater = run(['watch', ...files], /Watch at (http:\S+)\//)
  const browser = await launch()
  try {
    const { page } = await open(browser, (await theater.started)[1])
    await until('it is loaded', () => page.evaluate(() => window.show?.openedMs > 0))
    await page.evaluate(() => window.show.seek(154.3e6))
    await sleep(300)
    await page.screenshot({ path: join(docs, 'watch.png') })
    console.log('wrote docs/watch.png')
  } finally {
    await browser.close()
    await theater.stop()
    rmSync(directory, { recursive: true })
  }
}

async function dashboard() {
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
    await page.screenshot({ path: join(docs, 'dashboard.png') })
    console.log('wrote docs/dashboard.png')
  } finally {
    await browser.close()
    await group.stop()
  }
}

/** The recording of a terminal in README.md, by `crates/cli/examples/record.rs`. */
function terminal() {
  const cargo = ['run', '--quiet', '--release', '--example', 'record', '-p', 'consort-cli', '--', join(docs, 'failover.svg'), '48']
  const made = spawnSync('cargo', [...cargo, consort, 'up', '--scene', 'failover'], { cwd: join(docs, '..'), stdio: 'inherit' })
  if (made.status !== 0) throw new Error('the terminal was not recorded')
  console.log('wrote docs/failover.svg')
}

const all = { dashboard, watch, terminal }
if (wanted && !all[wanted]) throw new Error(`there is no picture ${wanted}; name one of ${Object.keys(all).join(', ')}`)
for (const name of wanted ? [wanted] : Object.keys(all)) await all[name]()
