import { render } from 'preact'
import '../styles/tokens.css'
import '../styles/base.css'
import '../styles/shell.css'
import '../styles/parts.css'
import '../styles/table.css'
import '../styles/cascade.css'
import '../styles/timeline.css'
import '../styles/graph.css'
import '../styles/objects.css'
import { App } from './app.tsx'
import { followLinks } from './address.ts'
import { applyStoredTheme } from './theme.ts'

applyStoredTheme()
followLinks()
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
