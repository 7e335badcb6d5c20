// Makes the pictures of the documentation: the dashboard while another node takes over, its views, two simulations side by
// side, and the recording of the terminal. Text looks as on most screens with the font Inter (Debian: fonts-inter).
// `npm run picture`, or with a name: `npm run picture watch`.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { consort, get, launch, open, run, sleep, until } from './harness.mjs'

const docs = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs')
const wanted = process.argv[2]

/** How long the group lives before its picture is taken, in minutes. */
const minutes = Number(process.env.MINUTES ?? 8)

async function watch() {
  const directory = mkdtempSync(join(tmpdir(), 'consort-picture-'))
  const files = ['swim', 'medley'].map((protocol) => {
    const file = join(directory, `${protocol === 'swim' ? 'SWIM' : 'Medley'}.rec`)
    const made = spawnSync(consort, ['sim', 'membership', '--nodes', '64', '--failures', '3', '--duration', '6000', '--warmup', '3000', '--protocol', protocol, '--record', file])
    if (made.status !== 0) throw new Error(String(made.stderr))
    return file
  })
  const theater = run(['watch', ...files], /Watch at (http:\S+)\//)
  const browser = await launch()
  try {
    const { page } = await open(browser, (await theater.started)[1], { viewport: { width: 1200, height: 750 } })
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

/** A fleet with tags and three elections, that has lived for a while: members came and went, and another node has taken over. */
async function dashboard() {
  const args = ['up', '--nodes', '10', '--period', '300ms', '--http', '127.0.0.1:0', '--bind', '127.0.0.1:0', '--group', 'yard-fleet']
  const group = run(args, /Dashboard:\s+(http:\S+)\//)
  const base = (await group.started)[1]
  const browser = await launch()
  try {
    const post = (url, body, method = 'POST') => fetch(url, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    const order = (body) => post(`${base}/lab`, body)
    const lab = async () => (await get(base, '/lab')).nodes
    // Tags and candidacies are those of a life: a node that is revived gets them again.
    const dress = async ({ number, http }) => {
      await post(`http://${http}/v1/tags`, { zone: ['yard', 'dock', 'hall'][number % 3] }, 'PATCH')
      // The node that is looked at takes part in all elections, so that it knows their names.
      for (const [election, share] of [['cron', 0], ['hub', 1]]) {
        if (number === 1 || number % 2 === share) await post(`http://${http}/v1/elections/${election}/campaign`, { class: number === 1 ? 9 : 0 })
      }
    }
    for (const node of await lab()) await dress(node)
    const leaderOf = async (name) => (await get(base, '/v1/elections')).find((e) => e.name === name)?.leader
    const spare = async (...not) => {
      const leaders = (await get(base, '/v1/elections')).map((e) => e.leader?.id)
      return (await lab()).find((n) => n.number > 1 && n.state === 'running' && !n.locks.length && !leaders.includes(n.id) && !not.includes(n.number))
    }
    await until('three leaders', async () => (await Promise.all(['gateway', 'cron', 'hub'].map(leaderOf))).every(Boolean))
    const end = Date.now() + minutes * 60_000
    for (let turn = 3; Date.now() < end; turn++) {
      const leaders = (await get(base, '/v1/elections')).map((e) => e.leader?.id)
      const all = (await lab()).filter((n) => n.number > 1 && n.state === 'running' && !leaders.includes(n.id))
      const victims = [all[(turn * 5) % all.length], all[(turn * 7 + 2) % all.length]].slice(0, 1 + (turn % 3 === 0))
      for (const v of victims) await order({ do: 'kill', node: v.number })
      await sleep(9000 + (turn % 4) * 3000)
      for (const v of victims) {
        await order({ do: 'revive', node: v.number })
        await dress((await lab())[v.number - 1])
      }
      await sleep(14_000 + (turn % 5) * 4000)
    }
    const leader = await until('a leader beside the node that is looked at', async () => {
      const found = (await lab()).find((n) => n.id === n.leader && n.state === 'running')
      if (found?.number === 1) await order({ do: 'resign', node: 1 })
      return found && found.number !== 1 ? found : null
    })
    const { page } = await open(browser, base, { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1.25 })
    const first = await spare(leader.number)
    await order({ do: 'lock', node: first.number, name: 'dock-a' })
    await sleep(8000)
    await order({ do: 'lock', node: leader.number, name: 'dock-a' })
    await order({ do: 'unlock', node: first.number, name: 'dock-a' })
    await until('the leader has the lock', async () => (await lab()).find((n) => n.number === leader.number).locks.some(([, held]) => held))
    const next = await spare(leader.number, first.number)
    await order({ do: 'lock', node: next.number, name: 'dock-a' })
    await sleep(4000)
    await order({ do: 'add' })
    await sleep(7000)
    await order({ do: 'kill', node: leader.number })
    await until('somebody took over', async () => (await page.innerText('.health h1')).includes('took over'))
    await sleep(1800)
    const frozen = await spare(leader.number, first.number, next.number)
    await order({ do: 'pause', node: frozen.number })
    await until('one is suspected', async () => (await page.innerText('.health')).includes('suspected'), 8)
    await sleep(400)
    await page.screenshot({ path: join(docs, 'dashboard.png') })
    console.log('wrote docs/dashboard.png')
    await order({ do: 'revive', node: frozen.number })
  } finally {
    await browser.close()
    await group.stop()
  }
}

/** The views of docs/DASHBOARD.md, of a small group that loses a leader and is cut in two. */
async function views() {
  const group = run(['up', '--nodes', '7', '--period', '300ms', '--http', '127.0.0.1:0', '--bind', '127.0.0.1:0', '--group', 'yard-fleet'], /Dashboard:\s+(http:\S+)\//)
  const base = (await group.started)[1]
  const browser = await launch()
  try {
    const order = (body) => fetch(`${base}/lab`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    const lab = async () => (await get(base, '/lab')).nodes
    const leader = await until('a leader beside the node that is looked at', async () => {
      const found = (await lab()).find((n) => n.id === n.leader)
      if (found?.number === 1) await order({ do: 'resign', node: 1 })
      return found && found.number !== 1 ? found.number : null
    })
    const [first, second, third] = [2, 3, 4, 5].filter((n) => n !== leader)
    for (const node of [first, second, third]) {
      await order({ do: 'lock', node })
      await sleep(4000)
    }
    await order({ do: 'unlock', node: first })
    await sleep(6000)
    await order({ do: 'kill', node: leader })
    const { page, go } = await open(browser, base, { viewport: { width: 1280, height: 760 } })
    await until('somebody took over', async () => (await page.innerText('.health h1')).includes('took over'))
    const picture = async (view) => {
      await go(view)
      await sleep(view === 'traffic' ? 11_000 : 2500)
      await page.screenshot({ path: join(docs, `view-${view.split('/')[0]}.png`) })
      console.log(`wrote docs/view-${view.split('/')[0]}.png`)
    }
    for (const view of ['elections', 'locks', 'timeline', `members/${(await lab())[leader - 1].id}`, 'traffic']) await picture(view)
    await order({ do: 'revive', node: leader })
    await sleep(5000)
    await order({ do: 'partition', nodes: [5, 6, 7] })
    await until('both sides know', async () => (await get(base, '/v1/members')).filter((m) => m.status === 'failed').length === 3)
    await picture('map')
  } finally {
    await browser.close()
    await group.stop()
  }
}

/** The recording of a terminal in README.md, by `crates/cli/examples/record.rs`. */
function terminal() {
  const cargo = ['run', '--quiet', '--example', 'record', '-p', 'consort-cli', '--', join(docs, 'failover.svg'), '56']
  const made = spawnSync('cargo', [...cargo, consort, 'up', '--scene', 'failover'], { cwd: join(docs, '..'), stdio: 'inherit' })
  if (made.status !== 0) throw new Error('the terminal was not recorded')
  console.log('wrote docs/failover.svg')
}

const all = { dashboard, views, watch, terminal }
if (wanted && !all[wanted]) throw new Error(`there is no picture ${wanted}; name one of ${Object.keys(all).join(', ')}`)
for (const name of wanted ? [wanted] : Object.keys(all)) await all[name]()
