// Builds the console into dist/console, from where the node serves it.
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const node = process.env.MILLRACE_URL ?? 'http://127.0.0.1:4400'

/** The libraries that draw nets, used by nothing else. */
const GRAPH = /node_modules\/(@xyflow|@dagrejs|d3-|zustand|classcat)/

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // The page's content security policy allows no `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        manualChunks: (id: string) => {
          if (!id.includes('node_modules')) return undefined
          if (id.includes('uplot')) return 'charts'
          return GRAPH.test(id) ? 'graph' : 'vendor'
        },
      },
    },
  },
  // `npx vite console` develops the screens against a running node.
  server: { proxy: { '/v1': node, '/openapi.json': node } },
})
