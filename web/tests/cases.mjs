// What the page must do, against real nodes.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, axe, check, fake, get, open, run, sleep, until, up } from './harness.mjs'

const lab = (base) => get(base, '/lab')
const nodeOf = async (base, test) => (await lab(base)).nodes.find(test)

/** Chooses a node in the lab and presses one of its buttons. */
async function press(page, id, act) {
  await page.selectOption('.lab select', id)
  await page.click(`.lab [data-act="${act}"]`)
}

const send = (base, body) =>
  fetch(`${base}/lab`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

/** Mends what an earlier test may have left broken. */
export async function tidy(base) {
  await send(base, { do: 'heal' })
  for (const n of (await lab(base)).nodes) {
    if (n.state !== 'running') await send(base, { do: 'revive', node: n.number })
    for (const [name] of n.locks) await send(base, { do: 'unlock', node: n.number, name })
  }
}

/** The node that leads, and one that neither leads nor serves the page. */
async function cast(base) {
  return until('a leader that all follow', async () => {
    const { nodes } = await lab(base)
    const id = nodes[0].leader
    const leader = nodes.find((n) => n.id === id)
    if (!leader || !nodes.every((n) => n.state !== 'running' || n.leader === id)) return null
    const other = nodes.find((n) => n.number > 1 && n.id !== id && n.state === 'running')
    return { leader, other, nodes }
  })
}

/** Waits until the overview says so, first or further down. */
const says = (page, text) =>
  until(`the overview says: ${text}`, async () => {
    const said = await page.innerText('.health')
    if (!said.includes(text)) throw new Error(said)
    return true
  })

const row = (page, name) =>
  page.locator('table.members tbody tr', { has: page.locator('a.plain', { hasText: new RegExp(`^${name}$`) }) })

export async function failover(browser, group) {
  const { page, calm, go, close } = await open(browser, group.base)
  const mark = await page.evaluate(() => (window.mark = Math.random()))
  let { leader } = await cast(group.base)
  if (leader.number === 1) {
    await press(page, leader.id, 'resign')
    leader = (await until('another leader', async () => {
      const c = await cast(group.base)
      return c.leader.number === 1 ? null : c
    })).leader
  }
  await go('members')
  await press(page, leader.id, 'kill')
  await until('the killed node turns failed', async () => (await row(page, leader.name).innerText()).includes('failed'))
  const heir = await until('another leads', async () => {
    const id = (await get(group.base, '/v1/elections'))[0].leader?.id
    return id && id !== leader.id ? nodeOf(group.base, (n) => n.id === id) : null
  })
  await until('the crown moves', async () => (await row(page, heir.name).innerText()).includes('gateway'))
  await go('overview')
  await says(page, `${leader.name} failed`)
  await go('elections')
  await until('the election shows the new leader', async () => (await page.innerText('.chief')).includes(heir.name))
  await until('the history has both', async () => (await page.locator('.terms svg').getAttribute('aria-label')).includes(leader.name))
  await go('timeline')
  const story = page.locator('.ep', { hasText: `${leader.name} failed` }).first()
  await until('the story has its cause first', async () => {
    const text = await story.innerText()
    return text.indexOf('Kill') >= 0 && text.indexOf('Kill') < text.indexOf('suspected') && text.includes('leads')
  })
  await go(`members/${leader.id}`)
  await until('why', async () => /Accused by/.test(await page.innerText('aside.side')))
  await press(page, leader.id, 'revive')
  await go('members')
  await until('the revived node is alive', async () => (await row(page, leader.name).innerText()).includes('alive'))
  check((await page.evaluate(() => window.mark)) === mark, 'the page was loaded again')
  calm()
  await close()
}

export async function locks(browser, group) {
  const { page, calm, go, close } = await open(browser, group.base)
  const { nodes } = await cast(group.base)
  const [a, b] = nodes.slice(1, 3)
  await go('locks')
  await press(page, a.id, 'lock')
  await until('the holder is shown', async () => (await page.innerText('.hold')).includes(a.name))
  await press(page, b.id, 'lock')
  await until('who waits is shown', async () => (await page.innerText('.q')).includes(b.name))
  check(await page.locator('.lease[role=meter]').count(), 'no bar of the lease')
  await press(page, a.id, 'unlock')
  await until('the hand-over is shown', async () => (await page.innerText('.hold')).includes(b.name))
  await go('timeline')
  await until('and told', async () => (await page.innerText('main')).includes(`demo went from ${a.name} to ${b.name}`))
  await press(page, b.id, 'unlock')
  calm()
  await close()
}

export async function partition(browser, group) {
  const { page, calm, go, close } = await open(browser, group.base)
  await cast(group.base)
  await go('map')
  const islands = () => page.locator('[data-islands]').getAttribute('data-islands')
  await until('one island', async () => (await islands()) === '1')
  await page.click('.lab [data-act="partition"]')
  await page.click('.popover [data-act="cut"]')
  await until('two islands', async () => (await islands()) === '2', 40)
  check((await page.innerText('.panel')).includes('Split'), 'the panel does not tell of the split')
  await go('overview')
  await says(page, 'split')
  await go('map')
  await page.click('.lab [data-act="heal"]')
  await until('one island again', async () => (await islands()) === '1', 60)
  calm()
  await close()
}

/** Every button does what it says, by what the group says of itself; some by their keys. */
export async function buttons(browser, group) {
  const { page, calm, close } = await open(browser, group.base)
  const { other } = await cast(group.base)
  const id = other.id
  const becomes = (what, test) => until(what, async () => test(await nodeOf(group.base, (n) => n.id === id)))
  const shown = (act) => page.waitForSelector(`.lab [data-act="${act}"]:not(:disabled)`, { timeout: 15_000 })
  await page.selectOption('.lab select', id)
  await page.click('.lab [data-act="slow"]')
  await becomes('slow', (n) => n.delay_ms === 200)
  await page.click('.lab [data-act="lose"]')
  await becomes('lossy', (n) => n.loss_percent === 30)
  await shown('heal')
  await page.click('.lab [data-act="heal"]')
  await becomes('healed', (n) => !n.delay_ms && !n.loss_percent)
  await page.click('.lab [data-act="isolate"]')
  await becomes('isolated', (n) => n.isolated)
  await shown('heal')
  await page.keyboard.press('h')
  await becomes('healed by a key', (n) => !n.isolated)
  await page.click('.lab [data-act="pause"]')
  await becomes('paused', (n) => n.state === 'paused')
  await shown('resume')
  await page.click('.lab [data-act="resume"]')
  await becomes('resumed', (n) => n.state === 'running')
  await shown('withdraw')
  await page.click('.lab [data-act="withdraw"]')
  await becomes('withdrawn', (n) => n.stands === false)
  await shown('campaign')
  await page.click('.lab [data-act="campaign"]')
  await becomes('a candidate', (n) => n.stands === true)
  await page.keyboard.press('k')
  await becomes('killed by a key', (n) => n.state === 'stopped')
  await shown('revive')
  await page.click('.lab [data-act="revive"]')
  await becomes('revived', (n) => n.state === 'running')
  const { leader } = await cast(group.base)
  await page.selectOption('.lab select', leader.id)
  await shown('resign')
  await page.click('.lab [data-act="resign"]')
  await until('another leads', async () => (await cast(group.base)).leader.id !== leader.id)
  const before = (await lab(group.base)).nodes.length
  await page.click('.lab [data-act="add"]')
  await until('one more', async () => (await lab(group.base)).nodes.length === before + 1)
  // A key typed into a field is text, not an order.
  await page.evaluate(() => (location.hash = '#/members'))
  await page.fill('input[type=search]', 'k')
  check(!(await lab(group.base)).nodes.some((n) => n.state === 'stopped'), 'a key in a field killed a node')
  calm()
  await close()
}

/** The agent goes and comes back: the page says so, and is live again without being loaded. */
export async function reconnect(browser, group) {
  const { page, calm, go, close } = await open(browser, group.base)
  await cast(group.base)
  const mark = await page.evaluate(() => (window.mark = Math.random()))
  await go('members')
  group.say('k 1')
  await page.waitForSelector('.stale', { timeout: 15_000 })
  check((await page.innerText('.stale')).includes('does not answer'), 'the banner does not say what is wrong')
  check(await page.locator('.lab .btn:not(:disabled)').count() === 0, 'buttons of a lab that is gone')
  check((await page.locator('.stale a').count()) > 0, 'no way to the other nodes')
  group.say('r 1')
  await page.waitForSelector('.stale', { state: 'detached', timeout: 20_000 })
  await until('members are fresh', async () => (await page.locator('table.members tbody tr').count()) >= 5)
  check((await page.evaluate(() => window.mark)) === mark, 'the page was loaded again')
  calm(/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/)
  await close()
}

/** Every view in both themes: no serious finding. */
export async function accessibility(browser, group) {
  const views = ['overview', 'map', 'members', 'elections', 'locks', 'timeline', 'traffic']
  const found = []
  for (const colorScheme of ['light', 'dark']) {
    // The test reads the page by a script of its own, which the policy of the page forbids.
    const { page, go, close } = await open(browser, group.base, { colorScheme, bypassCSP: true, reducedMotion: 'reduce' })
    const member = (await lab(group.base)).nodes[1].id
    for (const view of [...views, `members/${member}`]) {
      await go(view)
      await page.waitForTimeout(400)
      found.push(...(await axe(page, `${colorScheme} ${view}`)))
    }
    await close()
  }
  check(found.length === 0, found.join('\n'))
}

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

export async function phone(browser, group) {
  const { page, calm, go, close } = await open(browser, group.base, PHONE)
  for (const view of ['overview', 'map', 'members', 'elections', 'locks', 'timeline', 'traffic']) {
    await go(view)
    await page.waitForTimeout(200)
    const over = await page.evaluate(() => document.querySelector('main').scrollWidth - document.documentElement.clientWidth)
    check(over <= 0, `${view} is ${over} px too wide for a phone`)
  }
  check(await page.locator('.tabs').isVisible(), 'no tabs')
  check(!(await page.locator('.lab').isVisible()), 'the lab covers the page')
  await page.click('.labbtn')
  check(await page.locator('.lab [data-act="add"]').isVisible(), 'the lab does not open')
  const low = await page.evaluate(() => [...document.querySelectorAll('.lab .btn')].filter((b) => b.getBoundingClientRect().height < 44).length)
  check(low === 0, `${low} buttons are too small to touch`)
  calm()
  await close()
}

/** A deployed agent: no buttons, no routes to break it; what its neighbours call themselves is text. */
export async function deployed(browser) {
  const long = `${'ü'.repeat(140)}<b>`
  const name = '<img src=x onerror="window.pwned=1"><script>window.pwned=2</script>'
  const tags = ['--tag', 'zone="><svg onload=window.pwned=3>', '--tag', `evil=drowssap${long}`]
  const first = await agent('first', ['--campaign', 'chief'])
  let second
  try {
    const seed = (await get(first.base, '/v1/self')).address
    second = await agent(name, ['--join', seed, ...tags])
    const { page, calm, go, close } = await open(browser, first.base)
    await until('both are there', async () => (await get(first.base, '/v1/members')).length === 2)
    const odd = (await get(first.base, '/v1/members')).find((m) => m.name === name)
    check(odd, 'the name did not arrive as it was given')
    for (const view of ['overview', 'map', 'members', `members/${odd.id}`, 'elections', 'locks', 'timeline', 'traffic']) {
      await go(view)
      await page.waitForTimeout(400)
    }
    await go(`members/${odd.id}`)
    await until('the name is shown as text', async () => (await page.innerText('aside.side h2')).includes('<img src=x'))
    const text = await page.innerText('aside.side')
    check(text.includes('"><svg onload'), 'the tag is not shown as text')
    check((await page.evaluate(() => window.pwned)) === undefined, 'a name was run as a script')
    check((await page.locator('main img, main script').count()) === 0, 'a name became markup')
    check((await page.locator('.lab, .labbtn').count()) === 0, 'a deployed agent has buttons to break it')
    for (const init of [{}, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"do":"kill","node":1}' }]) {
      const answer = await fetch(`${first.base}/lab`, init)
      check(answer.status === 404, `/lab answers ${answer.status} in a deployed agent`)
    }
    const head = await fetch(first.base)
    const policy = head.headers.get('content-security-policy') ?? ''
    check(policy.includes("default-src 'none'") && !policy.includes('unsafe'), `policy: ${policy}`)
    const tag = head.headers.get('etag')
    const again = await fetch(first.base, { headers: { 'if-none-match': tag } })
    check(again.status === 304, `a page that is known is sent again: ${again.status}`)
    const rebound = await fetch(`${first.base}/`, { headers: { origin: 'https://evil.example' } })
    check(rebound.status === 403, 'a page of another site is served')
    calm()
    await close()
  } finally {
    await second?.stop()
    await first.stop()
  }
}

// ---------- an agent that asks for a token ----------

export async function token(browser) {
  const dir = mkdtempSync(join(tmpdir(), 'consort-'))
  const file = join(dir, 'tokens')
  const good = 'a-token-of-the-browser-test'
  writeFileSync(file, `read ${good}\n`, { mode: 0o600 })
  const guarded = await agent('guarded', ['--campaign', 'chief', '--token-file', file])
  try {
    check((await fetch(`${guarded.base}/v1/self`)).status === 401, 'the agent answers without a token')
    const { page, calm, close } = await open(browser, guarded.base)
    await page.waitForSelector('.signin')
    check((await page.innerText('body')).includes('guarded') === false, 'something is told before the sign-in')
    await page.fill('#token', 'not-the-right-token')
    await page.click('.signin button')
    await until('the refusal is shown', async () => (await page.innerText('.signin [role=alert]')).includes('does not know'))
    await page.fill('#token', good)
    await page.click('.signin button')
    await until('it is live', async () => (await page.innerText('.nav .live')).includes('guarded'))
    await page.evaluate(() => (location.hash = '#/timeline'))
    await until('events are streamed', async () => (await page.innerText('main')).includes('chief'))
    await page.reload()
    await until('a reload keeps it', async () => (await page.innerText('.nav .live')).includes('guarded'))
    const stored = await page.evaluate(() => [localStorage.length, document.cookie])
    check(stored[1] === '', 'the token is in a cookie')
    check(!(await page.evaluate(() => JSON.stringify(localStorage))).includes('token-of'), 'the token stays on the disk')
    await page.click('text=Sign out')
    await page.waitForSelector('.signin')
    calm(/401/)
    await close()
  } finally {
    await guarded.stop()
    rmSync(dir, { recursive: true })
  }
}

// ---------- five hundred ----------

function crowd(n) {
  const hex = (i) => (i + 1).toString(16).padStart(16, '0')
  const members = Array.from({ length: n }, (_, i) => ({
    name: `node-${i + 1}`, id: hex(i), status: i % 97 === 5 ? 'failed' : i % 131 === 7 ? 'suspect' : 'alive',
    address: `10.0.${i >> 8}.${i & 255}:7717`, life: 1, incarnation: 0, tags: { zone: `z${i % 6}`, battery: String(i % 16) },
    rtt_us: i ? 300 + ((i * 7919) % 20000) : null, health_percent: 100, suspicions: 0, refutations: 0,
    accuser: i % 131 === 7 ? hex(0) : null, reliability: { bucket: i % 7, per_week_milli: 1000, failures_milli: 10, observed_s: 1000 },
    heard_ms: i ? (i * 37) % 9000 : null, since_ms: 60_000 + i, self: i === 0,
    place: [Math.round(9000 * Math.cos(i)), Math.round(7000 * Math.sin(i * 1.7)), (i * 53) % 4000, 200],
  }))
  // Agents refuse such a name; a page must not rely on that.
  members[3].name = `\u0000\u001b[31m<i>bold</i>\u202e${'y'.repeat(480)}`
  members[3].status = 'failed'
  const ready = { synced: true, mature: true, matures_in_ms: 0 }
  const leader = { name: 'node-2', id: hex(1), token: '000000006afc0a85-0000000000000001', term: 9, stage: 'confirmed', degraded: false, self: false }
  return {
    members,
    answers: (path) => {
      switch (path) {
        case '/v1/self':
          return { ...members[0], group: 'crowd', version: '0', run: 'r', uptime_ms: 1, positions: false, topology: false, lab: false, locks: ready }
        case '/v1/members':
          return members.map((m) => (m.rtt_us ? { ...m, rtt_us: m.rtt_us + Math.round(Math.random() * 100) } : m))
        case '/v1/elections':
          return [{ name: 'chief', id: '1', leader, vacant: false, scope: null, role: 'member', acting: null, valid_for_ms: 0, grace_ms: 0, electing: false, churn: null, score: [], terms: [],
            candidates: members.slice(1, 40).map((m) => ({ name: m.name, id: m.id, class: 0, attribute: 0, centrality: 0, reliability: 0, compared: m.id === leader.id ? 'leads' : 'worse', by: 'hash', settled: true, suspect: false })) }]
        case '/v1/locks':
          return { locks: [], readiness: ready, defaults: { ttl_ms: 10000, bound: 'observed', memory_ms: 20000 }, idle: [] }
        case '/v1/stats':
          return { datagrams_in: 1, datagrams_out: 1, bytes_out: 1 }
        case '/v1/stats/history':
          return { every_ms: 5000, samples: [] }
        default: {
          const asked = path.match(/^\/v1\/members\/(\w+)\/why$/)
          const member = asked && members.find((m) => m.id === asked[1])
          return member ? { member, accusers: [{ id: hex(0), name: 'node-1', heard_ms: 500 }], suspected_ms: 500, verdict_in_ms: 2000, down_ms: null, why: null, forgotten_in_ms: null, heard_ms: 900 } : undefined
        }
      }
    },
  }
}

/** Runs in the page: the times between frames while `act` is called with every frame. */
function measure([seconds, act]) {
  return new Promise((resolve) => {
    const main = document.querySelector('main')
    const canvas = document.querySelector('.canvas canvas')
    const bare = act === 'bare' ? Object.assign(document.createElement('canvas'), { width: 1100, height: 820 }) : null
    if (bare) document.body.replaceChildren(bare)
    const c = bare?.getContext('2d')
    const spans = []
    const end = performance.now() + seconds * 1000
    let last = 0
    let n = 0
    const step = (now) => {
      if (last) spans.push(now - last)
      last = now
      n += 1
      if (c) {
        c.clearRect(0, 0, 1100, 820)
        c.beginPath()
        for (let i = 0; i < 500; i++) c.arc(20 + ((i * 37 + n) % 1060), 20 + ((i * 91) % 780), 4.5, 0, 7)
        c.fill()
      }
      if (act === 'scroll') main.scrollTop = (n * 40) % 9000
      if (act === 'zoom' && n % 3 === 0) canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: n % 90 < 45 ? -20 : 20, clientX: 500, clientY: 400, bubbles: true, cancelable: true }))
      if (now < end) requestAnimationFrame(step)
      else resolve(spans)
    }
    requestAnimationFrame(step)
  })
}

const slow = (spans) => spans.filter((ms) => ms > 33.4).length / Math.max(1, spans.length)

/** Five hundred members: at most one frame in twenty takes longer than two of the screen's. */
export async function smooth(browser) {
  const { members, answers } = crowd(500)
  const server = await fake(answers)
  const blank = await browser.newPage()
  await blank.goto('about:blank')
  const { page, calm, go, close } = await open(browser, server.base)
  const seen = {}
  try {
    let seq = 1
    const feed = setInterval(() => {
      const member = members[1 + ((seq * 17) % 400)]
      server.tell({ seq: seq++, at_ms: Date.now(), event: seq % 2 ? 'suspected' : 'up', reason: seq % 2 ? undefined : 'refuted', member, by: members[0].id })
    }, 250)
    for (const [view, act] of [['map', 'zoom'], ['members', 'scroll'], ['overview', ''], ['timeline', 'scroll']]) {
      await go(view)
      await page.waitForTimeout(1200)
      if (view === 'members') {
        const cell = await page.locator('a.plain', { hasText: '<i>bold</i>' }).first().innerText()
        // eslint-disable-next-line no-control-regex
        check(!/[\u0000-\u001f\u202e]/.test(cell) && cell.length <= 32, `a hostile name is shown as ${JSON.stringify(cell)}`)
      }
      await blank.bringToFront()
      const idle = slow(await blank.evaluate(measure, [1.2, 'bare']))
      await page.bringToFront()
      const spans = await page.evaluate(measure, [3, act])
      seen[view] = { idle, share: slow(spans), frames: spans.length }
    }
    clearInterval(feed)
  } finally {
    calm()
    await close()
    await blank.close()
    server.stop()
  }
  const text = Object.entries(seen).map(([view, s]) => `${view} ${(100 * s.share).toFixed(1)} % of ${s.frames}`).join(', ')
  const busy = Math.max(...Object.values(seen).map((s) => s.idle))
  const bad = Object.values(seen).some((s) => s.share > 0.05)
  if (bad && busy > 0.02) return `SKIPPED: this machine is too busy: a bare canvas with 500 dots has ${(100 * busy).toFixed(0)} % slow frames; measured ${text}`
  check(!bad, `slow frames: ${text}`)
  return `slow frames: ${text}`
}

export { sleep }

/** The captions of a scene are on the page, and what they tell happens there. */
export async function scene(browser) {
  const program = run(['up', '--scene', 'failover', '--period', '200ms', '--http', '127.0.0.1:0', '--bind', '127.0.0.1:0'], /Dashboard:\s+(http:\S+)\//)
  const base = (await program.started)[1]
  const { page, calm, close } = await open(browser, base)
  try {
    const caption = (text) => until(`the caption “${text}”`, async () => (await page.innerText('.caption')).includes(text), 40)
    await caption('Five nodes and no server')
    await caption('its process is killed')
    await until('somebody took over', async () => (await page.innerText('.health')).includes('took over gateway'), 40)
    calm(/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/)
  } finally {
    await close()
    await program.stop()
  }
}
