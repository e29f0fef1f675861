// Mounts the console.

import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import './styles/tokens.css'
import './styles/base.css'
import './styles/layout.css'
import './styles/controls.css'
import './styles/surfaces.css'
import './styles/code.css'
import './styles/screens.css'
import './styles/workflows.css'
import './styles/webhooks.css'
import './styles/connections.css'

const root = document.getElementById('root')
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
}
