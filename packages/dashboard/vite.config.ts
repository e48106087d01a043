/** Builds the pages into dist/: hashed files, nothing inline, so that they run under a strict content security policy. */
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react(), tailwind()],
  build: { target: 'es2023', modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: true },
  // While developing: `npm run dev --workspace packages/dashboard` beside a node on its usual port.
  server: { proxy: { '/v1': 'http://127.0.0.1:7171' } },
})
