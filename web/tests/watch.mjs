// Simulations in the browser, from recordings that the program makes.

import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { axe, check, consort, open, run, until } from './harness.mjs'

const SERVED = /Watch at (http:\S+)\//

async function show(args) {
  const program = run(args, SERVED)
  const base = (await program.started)[1]
  return { ...program, base }
}

function record(args) {
  const made = spawnSync(consort, args, { encoding: 'utf8' })
  check(made.status === 0, `consort ${args.join(' ')}: ${made.stderr}`)
}

const words = (page, n = 0) => page.innerText(`[data-words="${n}"]`)
const time = async (page) => {
  const [minutes, seconds] = (await page.innerText('[data-time]')).split(' ')[0].split(':')
  return Number(minutes) * 60 + Number(seconds)
}
const loaded = (page) => until('it is loaded', () => page.evaluate(() => window.show?.openedMs > 0))

/** A large recording opens and seeks fast enough; what is shown is what was recorded. */
export async function watch(browser) {
  const directory = mkdtempSync(join(tmpdir(), 'consort-watch-'))
  const file = join(directory, 'large.rec')
  record(['sim', 'membership', '--nodes', '200', '--failures', '5', '--duration', '12000', '--warmup', '3000', '--protocol', 'swim', '--record', file])
  const theater = await show(['watch', file])
  const { page, calm, close } = await open(browser, theater.base)
  try {
    await loaded(page)
    const { opened, end } = await page.evaluate(() => ({ opened: window.show.openedMs, end: window.show.end }))
    check(Math.abs(end / 1e6 - 600) < 2, `it ends after ${end / 1e6} s, not ten minutes`)
    check(opened < 2000, `opened in ${opened} ms`)
    check(Math.abs((await time(page)) - 147) < 1, 'it begins shortly before the crash')
    check((await words(page)).includes('All 200 run'), await words(page))
    const slowest = await page.evaluate(() => {
      let slowest = 0
      for (let i = 0; i < 60; i++) {
        window.show.seek((((i * 37) % 60) / 60) * window.show.end)
        slowest = Math.max(slowest, window.show.soughtMs)
      }
      return slowest
    })
    check(slowest < 100, `a seek took ${slowest} ms`)
    await page.evaluate(() => window.show.seek(149.9e6))
    await until('nothing has happened yet', async () => (await words(page)).includes('All 200 run'))
    await page.click('[data-do="next"]')
    await until('the crash is told', async () => (await page.innerText('.happened')).includes('crashes'))
    await page.evaluate(() => window.show.seek(window.show.end))
    await until('all know at the end', async () => (await page.innerText('.figures')).match(/run\s+195/))
    const sums = await page.evaluate(() => window.show.states()[0].verdicts.reduce((a, b) => a + b, 0))
    check(sums === 5 * 195, `${sums} verdicts at the end`)
    calm()
    return `200 nodes, 10 min: opened in ${Math.round(opened)} ms, slowest of 60 seeks ${slowest.toFixed(1)} ms`
  } finally {
    await close()
    await theater.stop()
    await rm(directory, { recursive: true })
  }
}

/** Two protocols in one clock, from a simulation that is watched as it runs: play, pause, speed, step, seek, choose. */
export async function duel(browser) {
  const theater = await show(['sim', 'omega', '--core', 'fd-event,cel', '--nodes', '30', '--side', '300', '--duration', '60', '--watch'])
  const { page, calm, close } = await open(browser, theater.base, { bypassCSP: true })
  try {
    await loaded(page)
    check((await page.locator('.stage .canvas').count()) === 2, 'two maps')
    const heads = await page.innerText('.figures thead')
    check(heads.includes('Flooding') && heads.includes('CEL'), `both have figures under their names: ${heads}`)
    check((await page.title()).includes('Flooding (fd-event) against CEL (cel-1)'), await page.title())
    check((await words(page, 1)).includes('components') || (await words(page, 1)).includes('component'), await words(page, 1))
    await page.selectOption('[data-do="speed"]', '5')
    await page.click('[data-do="play"]')
    await until('time passes', async () => (await time(page)) > 3)
    await page.keyboard.press('Space')
    const paused = await time(page)
    check(!(await page.evaluate(() => window.show.playing)), 'it is paused')
    await page.click('[data-do="tick"]')
    check(Math.abs((await time(page)) - paused - 0.1) < 0.02, 'a step is a tenth of a second')
    await page.locator('.seek input').fill('3000')
    check((await time(page)) === 30, `the bar seeks: ${await time(page)}`)
    await page.keyboard.press('Escape')
    await page.locator('.stage canvas').first().focus()
    await page.keyboard.press('Alt+ArrowRight')
    await until('a node is chosen', () => page.locator('[data-chosen]').count())
    check((await page.innerText('[data-chosen]')).includes('CEL'), 'it is shown in both')
    await page.click('.panel .seg >> text=Nodes')
    check((await page.locator('.nodes tbody tr').count()) === 30, 'the table has all nodes')
    const found = await axe(page, 'two side by side')
    await page.setViewportSize({ width: 390, height: 844 })
    found.push(...(await axe(page, 'on a phone')))
    check(found.length === 0, found.join('\n'))
    calm()
  } finally {
    await close()
    await theater.stop()
  }
}

/** A storm: faults, partitions, locks; the page is accessible, light and dark. */
export async function storm(browser) {
  const theater = await show(['sim', 'chaos', '--locks', '--seeds', '7', '--storm', '60', '--watch'])
  const { page, calm, close } = await open(browser, theater.base, { bypassCSP: true })
  try {
    await loaded(page)
    await page.evaluate(() => window.show.seek(window.show.end))
    await until('the outcome is told', async () => (await page.innerText('.outcome')).includes('no violation'))
    const story = await page.evaluate(() => window.show.reels[0].story.items.map((i) => i.text).join('\n'))
    for (const word of ['holds', 'after node']) check(story.includes(word), `the story has no “${word}”`)
    const holders = await page.evaluate(() => {
      const { tape } = window.show.reels[0]
      let most = 0
      for (let t = 0; t < tape.end; t += 1e5) most = Math.max(most, tape.stateAt(t).locks.reduce((sum, l) => sum + l.size, 0))
      return most
    })
    check(holders > 1, 'locks are wanted')
    const found = []
    for (const theme of ['Light', 'Dark']) {
      await page.click(`.bar >> text=${theme}`)
      for (const tab of ['Events', 'Nodes', 'Legend']) {
        await page.click(`.panel .seg >> text=${tab}`)
        found.push(...(await axe(page, `${theme} ${tab}`)))
      }
    }
    check(found.length === 0, found.join('\n'))
    calm()
  } finally {
    await close()
    await theater.stop()
  }
}

/** The other simulations: locks that are handed over, elections, and elections that learn. */
export async function others(browser) {
  const seen = async (args, test) => {
    const theater = await show(['sim', ...args, '--watch'])
    const { page, calm, close } = await open(browser, theater.base, { bypassCSP: true })
    try {
      await loaded(page)
      await until('the recording is whole', () => page.evaluate(() => window.show.reels.every((r) => r.tape.done)))
      await page.evaluate(() => window.show.seek(window.show.end))
      const story = await page.evaluate(() => window.show.reels.map((r) => r.story.items.map((i) => i.text).join('\n')))
      await test(page, story)
      calm()
    } finally {
      await close()
      await theater.stop()
    }
  }
  await seen(['mutex', '--nodes', '25', '--lock', 'camera,witness'], async (page, story) => {
    check((await page.title()).includes('Camera (camera) against Consort (witness)'), await page.title())
    for (const text of story) check(/holds lock one, after node \d+/.test(text), `no hand-over is told: ${text}`)
    check((await page.innerText('.outcome')).includes('10 of 10 requests were granted'), await page.innerText('.outcome'))
    const most = await page.evaluate(() => {
      const { tape } = window.show.reels[0]
      let most = 0
      for (let t = 0; t < tape.end; t += 1e4) most = Math.max(most, [...tape.stateAt(t).locks[0].values()].filter((x) => x === 2).length)
      return most
    })
    check(most === 1, `${most} hold the lock at once`)
  })
  await seen(['election', '--nodes', '16', '--warmup', '200', '--variant', 'base,hybrid'], async (page, story) => {
    for (const text of story) check(text.includes('starts the election') && text.includes('leads election one'), text)
    check((await words(page)).includes('leads election one'), await words(page))
  })
  await seen(['bandit', '--policy', 'dle,product', '--requests', '60'], async (page, story) => {
    for (const text of story) check(text.includes('the client finds node') && text.includes('crashes'), text)
  })
}
