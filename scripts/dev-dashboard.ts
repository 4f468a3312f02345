// npm run dev:web: the dashboard from its sources at localhost:5173, over the API of a Causeway at localhost:4319.
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

const server = await createServer({
  root: fileURLToPath(new URL('../web/', import.meta.url)),
  configFile: false,
  envDir: false,
  server: { host: '127.0.0.1', proxy: { '/api': process.env['CAUSEWAY_API'] ?? 'http://127.0.0.1:4319' } },
})
await server.listen()
server.printUrls()
