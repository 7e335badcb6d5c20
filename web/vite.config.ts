import { defineConfig } from 'vite'

// The page is committed where the agent embeds it. Names without hashes: the agent lists them, and tells
// browsers by an entity tag when they change.
const agent = 'http://127.0.0.1:7718'
const proxy = {
  target: agent,
  changeOrigin: true,
  headers: { origin: agent },
}

export default defineConfig({
  base: './',
  publicDir: 'public',
  build: {
    outDir: '../crates/agent/web',
    emptyOutDir: true,
    target: 'es2022',
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: {
      input: { app: 'index.html', watch: 'watch.html' },
      output: { entryFileNames: '[name].js', assetFileNames: 'app[extname]', chunkFileNames: 'parts.js' },
    },
  },
  // `npm run dev` shows the sources against an agent that runs on this machine.
  server: { proxy: { '/v1': proxy, '/lab': proxy } },
})
