// The console's first step: its style, and the page on the screen.
import { render } from 'preact';
import { comeBack } from './api/sign-in.js';
import { App } from './app.js';
import './style/base.css';
import './style/parts.css';
import './style/pages.css';

comeBack();
const place = document.getElementById('app');
if (place !== null) render(<App />, place);
