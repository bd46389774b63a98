// Entry point of the console: loads its styles and renders the page.
import { render } from 'preact';
import { comeBack } from './api/sign-in.js';
import { App } from './app.js';
import { applyTheme } from './parts/theme.js';
import './style/fonts.css';
import './style/tokens.css';
import './style/base.css';
import './style/frame.css';
import './style/parts.css';
import './style/pages.css';

applyTheme();
comeBack();
const place = document.getElementById('app');
if (place !== null) render(<App />, place);
