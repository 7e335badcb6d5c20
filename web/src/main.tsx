import { render } from 'preact'
import './app.css'
import { connect } from './store'
import { App } from './ui/shell'
import { applyTheme } from './ui/theme'

applyTheme()
render(<App />, document.getElementById('app')!)
void connect()
