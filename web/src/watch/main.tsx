import { render } from 'preact'
import '../app.css'
import { applyTheme } from '../ui/theme'
import { Player } from './player'
import { Show } from './show'

applyTheme()
const show = new Show()
// For those who measure, and for scripts.
Object.assign(window, { show })
render(<Player show={show} />, document.getElementById('app')!)
void show.load()
