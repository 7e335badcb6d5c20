// What the browser tests share: the program, the browser, and a page that is watched.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const bundle = join(root, 'crates', 'agent', 'web')
export const consort = process.env.CONSORT_BIN ?? join(root, 'target', 'debug', 'consort')

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
]

export function findChromium() {
  const known = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  return known.find((path) => path && existsSync(path))
}

export const launch = () => chromium.launch({ executablePath: findChromium(), args: FLAGS })

/** Starts the program and waits for a line that matches; `say` types a line. */
export function run(args, ready) {
  const child = spawn(consort, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let out = ''
  const started = new Promise((resolve, reject) => {
    const look = (chunk) => {
      out += chunk
      const match = out.match(ready)
      if (match) resolve(match)
    }
    child.stdout.on('data', look)
    child.stderr.on('data', look)
    child.on('exit', (code) => reject(new Error(`consort ${args[0]} ended with ${code}:\n${out}`)))
    setTimeout(() => reject(new Error(`consort ${args[0]} did not start:\n${out}`)), 20_000).unref()
  })
  return {
    started,
    out: () => out,
    /** Ends it as a crash does. */
    crash: () =>
      new Promise((resolve) => {
        child.on('exit', resolve)
        child.kill('SIGKILL')
      }),
    say: (line) => child.stdin.write(`${line}\n`),
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve()
        child.on('exit', resolve)
        child.kill('SIGTERM')
        setTimeout(() => child.kill('SIGKILL'), 5000).unref()
      }),
  }
}

export async function up(nodes = 5) {
  const args = ['up', '--nodes', String(nodes), '--period', '200ms', '--http', '127.0.0.1:0', '--bind', '127.0.0.1:0']
  const program = run(args, /Dashboard:\s+(http:\S+)\//)
  const base = (await program.started)[1]
  return { ...program, base }
}

export async function agent(name, more = [], http = '127.0.0.1:0') {
  const args = ['agent', '--name', name, '--bind', '127.0.0.1:0', '--http', http, '--period', '200ms', ...more]
  const program = run(args, /HTTP at (127\.0\.0\.1:\d+)/)
  const base = `http://${(await program.started)[1]}`
  return { ...program, base }
}

export async function get(base, path) {
  const answer = await fetch(base + path, { signal: AbortSignal.timeout(5000) })
  return answer.json()
}

/** Waits until `what` holds; the last thing it returned is in the error. */
export async function until(what, condition, seconds = 30) {
  const end = Date.now() + seconds * 1000
  let last
  while (Date.now() < end) {
    try {
      last = await condition()
      if (last) return last
    } catch (error) {
      last = error
    }
    await sleep(100)
  }
  throw new Error(`${what}: not within ${seconds} s (last: ${String(last)})`)
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export function check(truth, message) {
  if (!truth) throw new Error(message)
}

/** A page whose errors and requests are kept. */
export async function open(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'light', ...options })
  const page = await context.newPage()
  const errors = []
  const foreign = []
  page.on('console', (m) => m.type() === 'error' && errors.push(m.text()))
  page.on('pageerror', (e) => errors.push(`page: ${e.message}`))
  page.on('dialog', (d) => (errors.push(`dialog: ${d.message()}`), d.dismiss()))
  page.on('request', (r) => new URL(r.url()).origin !== base && foreign.push(r.url()))
  // What was built last, instead of what the program has: for work on the page with a program that is not built anew.
  if (process.env.BUNDLE) {
    for (const file of ['app.js', 'app.css', 'parts.js']) await page.route(`${base}/${file}`, (route) => route.fulfill({ path: join(bundle, file) }))
  }
  await page.goto(base)
  await page.waitForSelector('#main')
  const calm = (allowed = /^$/) => {
    const bad = errors.filter((e) => !allowed.test(e))
    check(bad.length === 0, `console errors: ${bad.join(' | ')}`)
    check(foreign.length === 0, `requests off the host: ${foreign.join(' ')}`)
  }
  const go = async (view) => {
    await page.evaluate((v) => (location.hash = `#/${v}`), view)
    await page.waitForTimeout(100)
  }
  return { page, calm, go, close: () => context.close() }
}

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Serious findings about accessibility. The page must be opened with `bypassCSP`: its policy forbids foreign scripts. */
export async function axe(page, what) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.addScriptTag({ path: axePath })
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  const serious = result.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
  return serious.map((v) => `${what}: ${v.id} at ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`)
}

/** An agent that is not there: it answers with made-up data, by the same policy as a real one. */
export async function fake(answers) {
  const policy = readFileSync(join(root, 'crates', 'agent', 'src', 'routes', 'web.rs'), 'utf8')
    .match(/const POLICY: &str = "([^"]*)"/)[1]
    .replace(/\\\s+/g, '')
  const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }
  const streams = new Set()
  // Where streams of events began.
  const since = []
  const server = createServer((request, response) => {
    const path = request.url.split('?')[0]
    if (path === '/v1/events') {
      since.push(new URL(request.url, 'http://x').searchParams.get('since'))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: subscribed\ndata: {"event":"subscribed","at_ms":${Date.now()}}\n\n`)
      streams.add(response)
      return
    }
    const answer = answers(path)
    if (answer !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer))
      return
    }
    const name = path === '/' ? 'index.html' : path.slice(1)
    if (!/^[a-z.]+$/.test(name) || !existsSync(join(bundle, name))) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"code":"not_found","message":""}')
      return
    }
    response.writeHead(200, { 'content-type': types[name.split('.').pop()], 'content-security-policy': policy })
    response.end(readFileSync(join(bundle, name)))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${server.address().port}`
  const tell = (event) => {
    for (const s of streams) s.write(`event: ${event.event}\nid: fake-${event.seq}\ndata: ${JSON.stringify(event)}\n\n`)
  }
  const drop = () => {
    for (const s of streams) s.end()
    streams.clear()
  }
  return { base, tell, since, drop, stop: () => (server.closeAllConnections(), server.close()) }
}
