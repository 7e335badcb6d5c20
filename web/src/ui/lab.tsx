// Buttons to break the group and mend it. They are here only where the agent says that it is there for that.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { cut } from '../format'
import { order, state, useStore } from '../store'
import { Icon } from './icons'
import type { LabNode } from '../types'

const LOCK = 'demo'

export function Lab({ open, close, chosen }: { open: boolean; close: () => void; chosen: string | null }) {
  useStore()
  const nodes = state.lab!.nodes
  const [picked, setPicked] = useState('')
  const [choosing, setChoosing] = useState(false)
  // A member that is looked at is the one that is played with.
  useEffect(() => {
    if (chosen && nodes.some((n) => n.id === chosen)) setPicked(chosen)
  }, [chosen])
  const leader = nodes.find((n) => n.leader)?.leader
  const node = nodes.find((n) => n.id === picked) ?? nodes.find((n) => n.id === leader) ?? nodes[0]
  const off = state.connection === 'gone'
  const act = (body: { do: string } & Record<string, unknown>) => {
    void order(body)
    if (open) close()
  }
  const buttons = actions(node, nodes, act, () => setChoosing(!choosing))
  // Before the next key can be pressed: keys do what the buttons that are shown do.
  useLayoutEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      if (e.key === 'Escape') setChoosing(false)
      const target = e.target as HTMLElement
      if (e.ctrlKey || e.metaKey || e.altKey || /INPUT|SELECT|TEXTAREA/.test(target.tagName) || off) return
      const button = buttons.find((b) => b.key === e.key.toUpperCase())
      if (!button || button.disabled) return
      e.preventDefault()
      button.run()
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  })
  return (
    <section class="lab" aria-label="Lab: break the group and mend it">
      <span class="lbl suspect"><Icon id="flask" /><span>Lab<small>consort up</small></span></span>
      <label class="pick">
        <span class="sr">Node to play with</span>
        <select value={node.id} disabled={off} onChange={(e) => setPicked(e.currentTarget.value)}>
          {nodes.map((n) => <option key={n.id} value={n.id}>{cut(n.name, 20)}{mark(n)}</option>)}
        </select>
      </label>
      {buttons.map((b) => (
        <button key={b.key} type="button" data-act={b.act} class={`btn ${b.act === 'kill' ? 'danger' : ''} ${b.gap ? 'gap' : ''}`} disabled={off || b.disabled} aria-pressed={b.pressed} aria-expanded={b.act === 'partition' ? choosing : undefined} title={b.title} onClick={b.run}>
          {b.text} <kbd>{b.key}</kbd>
        </button>
      ))}
      {choosing && !off && <Partition nodes={nodes} done={() => setChoosing(false)} act={act} />}
      {state.complaint && <span class="failed sm complaint" role="alert">{state.complaint}</span>}
    </section>
  )
}

function mark(n: LabNode): string {
  const notes = []
  if (n.state !== 'running') notes.push(n.state === 'stopped' ? 'down' : n.state)
  if (n.isolated) notes.push('isolated')
  if (n.far) notes.push('other side')
  if (n.loss_percent) notes.push(`loses ${n.loss_percent} %`)
  if (n.delay_ms) notes.push(`${n.delay_ms} ms late`)
  return notes.length ? `, ${notes.join(', ')}` : ''
}

interface Action {
  act: string
  key: string
  text: string
  title: string
  run: () => void
  disabled?: boolean
  pressed?: boolean
  gap?: boolean
}

function actions(n: LabNode, nodes: LabNode[], act: (body: { do: string } & Record<string, unknown>) => void, choose: () => void): Action[] {
  const node = n.number
  const down = n.state === 'stopped'
  const paused = n.state === 'paused'
  const asked = n.locks.find(([name]) => name === LOCK)
  const leads = n.leader === n.id
  const faulty = nodes.some((x) => x.far || x.isolated || x.loss_percent || x.delay_ms)
  return [
    down
      ? { act: 'revive', key: 'K', text: 'Revive', title: 'Start it again in a later life', run: () => act({ do: 'revive', node }) }
      : { act: 'kill', key: 'K', text: 'Kill', title: 'Stop it without a goodbye', run: () => act({ do: 'kill', node }) },
    paused
      ? { act: 'resume', key: 'P', text: 'Resume', title: 'Let it go on where it was', run: () => act({ do: 'revive', node }) }
      : { act: 'pause', key: 'P', text: 'Pause', title: 'Freeze it, as if its process were stopped', disabled: down, run: () => act({ do: 'pause', node }) },
    { act: 'isolate', key: 'I', text: 'Isolate', title: 'It hears nobody and nobody hears it', disabled: down || n.isolated, run: () => act({ do: 'isolate', node }) },
    { act: 'partition', key: 'X', text: 'Partition…', title: 'Cut some nodes off from the others', gap: true, disabled: nodes.length < 2, run: choose },
    { act: 'heal', key: 'H', text: 'Heal', title: 'End partition, isolation, loss and delay', disabled: !faulty, run: () => act({ do: 'heal' }) },
    { act: 'slow', key: 'S', text: 'Slow', title: 'Its datagrams are 200 ms late', disabled: down, pressed: n.delay_ms > 0, run: () => act({ do: 'slow', node, ms: n.delay_ms ? 0 : 200 }) },
    { act: 'lose', key: 'L', text: 'Loss', title: 'It loses 30 % of its datagrams', disabled: down, pressed: n.loss_percent > 0, run: () => act({ do: 'lose', node, percent: n.loss_percent ? 0 : 30 }) },
    { act: 'add', key: 'A', text: 'Add node', title: 'Start one more', gap: true, run: () => act({ do: 'add' }) },
    asked
      ? { act: 'unlock', key: 'T', text: asked[1] ? 'Give lock' : 'Stop waiting', title: `Give ${LOCK} back`, disabled: down || paused, run: () => act({ do: 'unlock', node, name: LOCK }) }
      : { act: 'lock', key: 'T', text: 'Take lock', title: `Take ${LOCK} and hold it`, disabled: down || paused, run: () => act({ do: 'lock', node, name: LOCK }) },
    leads
      ? { act: 'resign', key: 'C', text: 'Resign', title: 'Stop leading; another takes over', disabled: down || paused, run: () => act({ do: 'resign', node }) }
      : n.stands === false
        ? { act: 'campaign', key: 'C', text: 'Campaign', title: 'Stand in the election', disabled: down || paused, run: () => act({ do: 'campaign', node }) }
        : { act: 'withdraw', key: 'C', text: 'Withdraw', title: 'Stop standing in the election', disabled: down || paused, run: () => act({ do: 'withdraw', node }) },
  ]
}

function Partition({ nodes, done, act }: { nodes: LabNode[]; done: () => void; act: (body: { do: string } & Record<string, unknown>) => void }) {
  const half = nodes.slice(Math.ceil(nodes.length * 0.6)).map((n) => n.number)
  const [far, setFar] = useState<number[]>(half)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector<HTMLElement>('input:checked')?.focus(), [])
  const flip = (n: number) => setFar(far.includes(n) ? far.filter((x) => x !== n) : [...far, n])
  return (
    <form
      ref={form}
      class="popover"
      aria-label="Partition"
      onSubmit={(e) => {
        e.preventDefault()
        act({ do: 'partition', nodes: far })
        done()
      }}
    >
      <b>Who is on the other side?</b>
      <div class={`checks ${nodes.length > 16 ? 'many' : ''}`}>
        {nodes.map((n) => (
          <label key={n.id}><input type="checkbox" checked={far.includes(n.number)} onChange={() => flip(n.number)} /> <bdi>{cut(n.name, 18)}</bdi></label>
        ))}
      </div>
      <p class="xs t3">{nodes.length - far.length} on one side, {far.length} on the other. Nothing passes between them.</p>
      <div class="q">
        <button type="submit" class="btn primary" data-act="cut" disabled={far.length === 0 || far.length === nodes.length}>Cut</button>
        <button type="button" class="btn" onClick={done}>Cancel</button>
      </div>
    </form>
  )
}
