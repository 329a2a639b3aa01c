// Builds the dashboard as files of the server: names with hashes of their contents, everything relative to /ui/,
// nothing inline.
import { defineConfig } from 'vite';

// Controller for `npx vite`: WAYLEAVE_SERVER=http://127.0.0.1:7480.
const server = process.env.WAYLEAVE_SERVER ?? 'http://127.0.0.1:7480';

export default defineConfig({
  base: './',
  build: {
    outDir: process.env.WAYLEAVE_UI_OUT ?? '../crates/control/server/ui',
    emptyOutDir: true,
    assetsDir: '.',
    assetsInlineLimit: 0,
    modulePreload: false,
    target: 'es2022',
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: 'app-[hash].js', chunkFileNames: 'part-[hash].js', assetFileNames: '[name]-[hash][extname]' },
    },
  },
  server: { proxy: { '/v1': server } },
  preview: { proxy: { '/v1': server } },
});
